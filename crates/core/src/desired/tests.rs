use super::*;
use crate::endpoint::TypeMeta;
use crate::testing::{mapped, name, object};

fn update(objects: Vec<(&str, Option<Mapped>)>, complete: bool) -> Update {
    let objects = objects
        .into_iter()
        .map(|(who, state)| crate::source::ObjectUpdate {
            source: Arc::from("service"),
            object: object("Service", who),
            state: match state {
                Some(mapped) => ObjectState::Present(Arc::new(mapped)),
                None => ObjectState::Gone { tombstone: true },
            },
        })
        .collect();
    Update { complete, objects }
}

fn dirty(taken: &Taken) -> Vec<&str> {
    taken.dirty.iter().map(DnsName::as_str).collect()
}

#[test]
fn only_touched_names_are_dirty() {
    let mut desired = Desired::default();
    let a = || mapped("Service", "a", &["a.example A 192.0.2.1", "b.example A 192.0.2.1"]);
    assert_eq!(dirty(&desired.take(update(vec![("a", Some(a()))], false), Timestamp(0))), ["a.example", "b.example"]);
    assert!(dirty(&desired.take(update(vec![("a", Some(a()))], false), Timestamp(0))).is_empty(), "same again");
    let moved = mapped("Service", "a", &["b.example A 192.0.2.1", "c.example A 192.0.2.1"]);
    let taken = desired.take(update(vec![("a", Some(moved))], false), Timestamp(0));
    assert_eq!(dirty(&taken), ["a.example", "b.example", "c.example"]);
    assert!(desired.at(&name("a.example")).endpoints.is_empty());
}

#[test]
fn a_delete_leaves_a_tombstone_and_a_missing_object_none() {
    let mut desired = Desired::default();
    let of = |who: &str| mapped("Service", who, &[&format!("{who}.example A 192.0.2.1")]);
    desired.take(update(vec![("a", Some(of("a"))), ("b", Some(of("b")))], true), Timestamp(0));
    desired.take(update(vec![("a", None)], false), Timestamp(0));
    let label: Arc<str> = Arc::from("service/ns/a");
    assert!(desired.is_proven_gone(&name("a.example"), Some(&label)));
    assert!(!desired.is_proven_gone(&name("a.example"), None));
    let taken = desired.take(update(vec![], true), Timestamp(0));
    assert_eq!(dirty(&taken), ["b.example"]);
    assert!(!desired.is_proven_gone(&name("b.example"), Some(&Arc::from("service/ns/b"))));
    desired.take(update(vec![("a", Some(of("a")))], false), Timestamp(0));
    assert!(!desired.is_proven_gone(&name("a.example"), Some(&label)), "it asks again");
}

/// Members of a name share a claim without a label: one that is deleted proves nothing about the others.
#[test]
fn a_member_that_is_deleted_proves_nothing_of_those_that_stay() {
    let member = |who: &str, target: &str| {
        let mut mapped = mapped("Pod", who, &[&format!("pods.example A {target}")]);
        mapped.endpoints.iter_mut().for_each(|endpoint| endpoint.resource = None);
        Some(mapped)
    };
    let mut desired = Desired::default();
    desired.take(update(vec![("a", member("a", "192.0.2.1")), ("b", member("b", "192.0.2.2"))], true), Timestamp(0));
    desired.take(update(vec![("a", None)], false), Timestamp(0));
    desired.take(update(vec![], true), Timestamp(0));
    let pods = name("pods.example");
    assert!(desired.at(&pods).endpoints.is_empty() && !desired.is_proven_gone(&pods, None), "b only vanished");
    desired.take(update(vec![("a", member("a", "192.0.2.1")), ("b", member("b", "192.0.2.2"))], false), Timestamp(0));
    desired.take(update(vec![("a", None), ("b", None)], false), Timestamp(0));
    assert!(desired.is_proven_gone(&pods, None), "all of them were seen to be deleted");
}

#[test]
fn objects_of_one_name_in_two_groups_are_two() {
    let mut desired = Desired::default();
    let mut both = update(vec![("a", Some(mapped("Service", "a", &["a.example A 192.0.2.1"])))], false);
    let mut other = both.objects[0].clone();
    other.object.types = TypeMeta::new("other.example/v1", other.object.kind().clone());
    other.state = ObjectState::Present(Arc::new(mapped("Service", "a", &["b.example A 192.0.2.1"])));
    both.objects.push(other);
    desired.take(both, Timestamp(1));
    assert_eq!(desired.names().map(ToString::to_string).collect::<Vec<_>>(), ["a.example", "b.example"]);
}

#[test]
fn what_is_not_known_is_noted_until_it_is() {
    let mut desired = Desired::default();
    let label = |text: &str| Some(Arc::<str>::from(text));
    let failed = |reason: &str| Mapped {
        unknown: [Unknown { resource: label("service/ns/a"), reason: reason.to_owned(), passing: false }].into(),
        ..Mapped::default()
    };
    assert!(!desired.take(update(vec![("a", Some(failed("x")))], false), Timestamp(1)).cleared);
    let unknown = |desired: &Desired, resource: Option<&str>| {
        let label = resource.and_then(label);
        desired.unknown(label.as_ref(), Duration::from_millis(10), Timestamp(5)).map(|u| u.reason.clone())
    };
    assert_eq!(unknown(&desired, Some("service/ns/a")).as_deref(), Some("x"));
    assert_eq!((unknown(&desired, Some("service/ns/b")), unknown(&desired, None)), (None, None));
    assert!(desired.take(update(vec![("a", Some(Mapped::default()))], false), Timestamp(2)).cleared);
    assert_eq!(unknown(&desired, Some("service/ns/a")), None);
    desired.take(update(vec![("a", Some(failed("x")))], false), Timestamp(3));
    assert!(desired.take(update(vec![("a", None)], false), Timestamp(4)).cleared);
    assert_eq!(unknown(&desired, Some("service/ns/a")), None);
}

/// Doubt that passes lasts for the grace from its first moment, whatever its reason becomes.
#[test]
fn doubt_that_passes_ends_with_the_grace() {
    let label = Some(Arc::<str>::from("service/ns/a"));
    let doubted = |reason: &str| Mapped {
        unknown: [Unknown { resource: label.clone(), reason: reason.to_owned(), passing: true }].into(),
        ..Mapped::default()
    };
    let (mut desired, grace) = (Desired::default(), Duration::from_millis(10));
    desired.take(update(vec![("a", Some(doubted("x")))], true), Timestamp(5));
    desired.take(update(vec![("a", Some(doubted("y")))], false), Timestamp(9));
    let unknown = |desired: &Desired, now: i64| desired.unknown(label.as_ref(), grace, Timestamp(now)).is_some();
    assert!(unknown(&desired, 14) && desired.has_unknown(grace, Timestamp(14)));
    assert_eq!(desired.next_grace_end(grace, Timestamp(9)), Some(Timestamp(15)));
    assert!(!unknown(&desired, 15) && !desired.has_unknown(grace, Timestamp(15)));
    assert_eq!(desired.next_grace_end(grace, Timestamp(15)), None);
    desired.take(update(vec![("a", Some(Mapped::default()))], false), Timestamp(20));
    desired.take(update(vec![("a", Some(doubted("x")))], false), Timestamp(21));
    assert!(unknown(&desired, 30) && !unknown(&desired, 31), "another doubt has a grace of its own");
}

/// Without a label: known names wait, and what an earlier process may have written is kept for the grace.
#[test]
fn what_has_no_label_waits_by_name() {
    let unknown = || Unknown { resource: None, reason: "x".to_owned(), passing: false };
    let failed = || Mapped { unknown: [unknown()].into(), ..Mapped::default() };
    let mut good = mapped("Service", "a", &["a.example A 192.0.2.1", "b.example A 192.0.2.1"]);
    good.endpoints[0].resource = None;
    let grace = Duration::from_millis(10);
    let mut desired = Desired::default();
    desired.take(update(vec![("a", Some(good))], true), Timestamp(1));
    desired.take(update(vec![("a", Some(failed()))], false), Timestamp(2));
    let pending = |desired: &Desired, text: &str| desired.at(&name(text)).pending.len();
    assert_eq!((pending(&desired, "a.example"), pending(&desired, "b.example")), (1, 0));
    assert!(desired.unknown(None, grace, Timestamp(2)).is_none(), "its names are known");
    desired.take(update(vec![("a", Some(failed()))], false), Timestamp(3));
    assert_eq!(pending(&desired, "a.example"), 1, "and stay so");

    let mut desired = Desired::default();
    desired.take(update(vec![("new", Some(failed()))], false), Timestamp(1));
    assert!(desired.unknown(None, grace, Timestamp(1)).is_none(), "a new object has published nothing");
    desired.take(update(vec![("new", Some(failed())), ("old", Some(failed()))], true), Timestamp(2));
    assert!(desired.unknown(None, grace, Timestamp(11)).is_some());
    assert_eq!(desired.next_grace_end(grace, Timestamp(3)), Some(Timestamp(12)));
    assert!(desired.unknown(None, grace, Timestamp(12)).is_none());
}

#[test]
fn pending_keeps_its_first_moment() {
    let mut desired = Desired::default();
    let waiting = |reason: &str| Mapped {
        pending: [Pending { name: name("a.example"), resource: None, reason: reason.to_owned() }].into(),
        ..Mapped::default()
    };
    desired.take(update(vec![("a", Some(waiting("blank")))], false), Timestamp(5));
    desired.take(update(vec![("a", Some(waiting("still blank")))], false), Timestamp(9));
    assert_eq!(desired.at(&name("a.example")).pending[0].1, Timestamp(5));
    let grace = Duration::from_millis(10);
    assert_eq!(desired.next_grace_end(grace, Timestamp(9)), Some(Timestamp(15)));
    assert_eq!(desired.past_grace(grace, Timestamp(15)).len(), 1);
}

/// A slow pass over all that a source holds finds nothing, unless something got lost.
#[test]
fn a_pass_finds_what_was_lost() {
    let mut desired = Desired::default();
    let of = |who: &str, lines: &[&str]| (who.to_owned(), Some(mapped("Service", who, lines)));
    let update = |objects: Vec<(String, Option<Mapped>)>| {
        update(objects.iter().map(|(who, state)| (who.as_str(), state.clone())).collect(), false)
    };
    let (a, b) = (of("a", &["a.example A 192.0.2.1"]), of("b", &["b.example A 192.0.2.1"]));
    let (c, d) =
        (of("c", &["c.example A 192.0.2.1"]), of("d", &["d.example A 192.0.2.1", "d.example AAAA 2001:db8::1"]));
    desired.take(update(vec![a.clone(), b.clone(), c.clone()]), Timestamp(0));
    let counts = |desired: &Desired| desired.types().values().copied().collect::<Vec<_>>();
    assert_eq!(counts(&desired), [3]);
    for _ in 0..2 {
        assert!(desired.review(update(vec![a.clone(), b.clone()]).objects, Timestamp(1)).dirty.is_empty());
        assert!(desired.review(update(vec![c.clone()]).objects, Timestamp(1)).dirty.is_empty());
        assert!(desired.reviewed().dirty.is_empty());
    }
    // One came while the pass was under way, behind its back; one was lost before, and one changed unseen.
    desired.review(update(vec![of("a", &["moved.example A 192.0.2.1"])]).objects, Timestamp(1));
    desired.take(update(vec![d]), Timestamp(1));
    desired.review(update(vec![c]).objects, Timestamp(1));
    assert_eq!(dirty(&desired.reviewed()), ["b.example"]);
    let names: Vec<String> = desired.names().map(ToString::to_string).collect();
    assert_eq!(names, ["c.example", "d.example", "moved.example"]);
    assert!(!desired.is_proven_gone(&name("b.example"), Some(&Arc::from("service/ns/b"))));
    assert_eq!((counts(&desired), desired.objects()), (vec![3, 1], 3));
}

#[test]
fn the_next_end_of_a_grace_is_known_without_a_look_at_what_waits() {
    let mut waits = Waits::default();
    let claimant = |who: &str| Arc::new(Claimants::default().claimant(&Arc::from("service"), &object("Service", who)));
    let (a, b, grace) = (claimant("a"), claimant("b"), Duration::from_millis(10));
    waits.begin(&a, &name("x.example"), Timestamp(1));
    waits.begin(&a, &name("x.example"), Timestamp(3));
    waits.begin(&b, &name("x.example"), Timestamp(4));
    assert_eq!(waits.since(&a, &name("x.example")), Some(Timestamp(1)));
    let ends = |waits: &Waits| [0, 11, 14].map(|now| waits.next_end(grace, Timestamp(now)).map(|end| end.0));
    assert_eq!(ends(&waits), [Some(11), Some(14), None]);
    assert_eq!(waits.past(grace, Timestamp(13)), BTreeSet::from([name("x.example")]));
    waits.end(&a, &name("x.example"));
    waits.end(&a, &name("x.example"));
    assert_eq!((ends(&waits), waits.len()), ([Some(14), Some(14), None], 1));
}
