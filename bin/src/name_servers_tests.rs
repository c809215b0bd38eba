use std::net::IpAddr;

use zonewright_testkit::DnsSoftware::Bind;
use zonewright_testkit::{Fault, ZoneSpec, free_port, proxy, require};

use super::*;

fn name(text: &str) -> DnsName {
    DnsName::parse(text).unwrap()
}

async fn asked(port: u16, servers: &[&str], at: &str, rtype: RecordType) -> Result<Vec<String>, String> {
    let servers: Vec<DnsName> = servers.iter().map(|server| name(server)).collect();
    let answer = SystemNameServers { port }.ask(&servers, &name(at), rtype).await?;
    Ok(answer.records.iter().map(|r| format!("{} {} {}", r.name, r.ttl, r.data)).collect())
}

#[tokio::test]
async fn what_a_real_server_answers() {
    require!(Bind.tools());
    let long: Vec<String> = (0..80).map(|n| format!("many 60 IN A 192.0.2.{n}")).collect();
    let records = format!("web 60 IN A 192.0.2.1\nalias 60 IN CNAME web\n{}\n", long.join("\n"));
    let server = Bind.start(&[ZoneSpec::new("shop.test", &records)], &[]);
    let port = server.addr().port();
    let ask = |at: &'static str, rtype| asked(port, &["localhost"], at, rtype);
    assert_eq!(ask("web.shop.test", RecordType::A).await, Ok(vec!["web.shop.test 60 192.0.2.1".to_owned()]));
    let alias = ["alias.shop.test 60 web.shop.test.", "web.shop.test 60 192.0.2.1"].map(str::to_owned);
    assert_eq!(ask("alias.shop.test", RecordType::A).await, Ok(alias.to_vec()));
    assert_eq!(ask("none.shop.test", RecordType::A).await, Ok(Vec::new()));
    assert_eq!(ask("web.shop.test", RecordType::Aaaa).await, Ok(Vec::new()));
    // By UDP it is cut.
    assert_eq!(ask("many.shop.test", RecordType::A).await.map(|records| records.len()), Ok(80));
    // A server that does not know the zone says nothing of it; the next one is asked.
    let elsewhere = ask("web.other.test", RecordType::A).await;
    assert_eq!(elsewhere, Err("localhost: it answers REFUSED".to_owned()));
    let second = asked(port, &["none.invalid", "localhost"], "web.shop.test", RecordType::A).await;
    assert_eq!(second.map(|records| records.len()), Ok(1));
}

#[tokio::test]
async fn servers_that_cannot_be_reached_are_named_with_the_reason() {
    let none = asked(free_port(), &["none.invalid"], "web.shop.test", RecordType::A).await.unwrap_err();
    assert!(none.starts_with("none.invalid: its address cannot be found"), "{none}");
    require!(Bind.tools());
    let server = Bind.start(&[ZoneSpec::new("shop.test", "web 60 IN A 192.0.2.1\n")], &[]);
    let (tcp, udp) = proxy::both(server.addr());
    tcp.set(Fault::Stall);
    udp.set(Fault::Stall);
    assert_eq!(tcp.addr().ip(), IpAddr::from([127, 0, 0, 1]));
    let still = asked(tcp.addr().port(), &["localhost"], "web.shop.test", RecordType::A).await;
    assert_eq!(still, Err("localhost: no answer in time".to_owned()));
    // What is no answer to the question is not taken for one.
    udp.set(Fault::Garbage);
    let garbled = asked(tcp.addr().port(), &["localhost"], "web.shop.test", RecordType::A).await;
    assert_eq!(garbled, Err("localhost: no answer in time".to_owned()));
}
