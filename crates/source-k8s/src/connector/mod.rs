//! The source `connector`: a server elsewhere that gives a list of endpoints to whoever connects.
//!
//! In comes its address; out come, at each reading, the endpoints as one object of a kind of its own, so that everything
//! behind a feed (evidence, doubt of an answer that is suddenly empty, notes) holds for it as for any other kind. The
//! protocol is external-dns': connect, send nothing, read one value in Go's gob encoding, close. What must hold: a peer
//! that is away, silent, slow, or answers nonsense is a lost view, and ends nothing.

mod gob;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use self::gob::Value;

/// Time for connecting, and again for the whole answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of an answer at most.
const LIMIT: usize = 16 << 20;

/// What kept an answer from being had, in words.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectorError {
    /// No connection.
    #[error("{server}: no connection: {problem}")]
    Connect {
        /// The address.
        server: String,
        /// The reason.
        problem: String,
    },
    /// No whole answer.
    #[error("{server}: the answer broke off: {problem}")]
    Read {
        /// The address.
        server: String,
        /// The reason.
        problem: String,
    },
    /// An answer that is none.
    #[error("{server}: the answer is no list of endpoints in gob encoding: {problem}")]
    Decode {
        /// The address.
        server: String,
        /// The reason.
        problem: String,
    },
}

/// Asks the server once. Returns the endpoints in the JSON form of a DNSEndpoint's `spec.endpoints`.
///
/// # Errors
/// Whatever kept the answer from being whole.
pub(crate) async fn fetch(server: &str) -> Result<Vec<Json>, ConnectorError> {
    let late = |what: &str| format!("{what} within {} s", PATIENCE.as_secs());
    let connect = |problem: String| ConnectorError::Connect { server: server.to_owned(), problem };
    let read = |problem: String| ConnectorError::Read { server: server.to_owned(), problem };
    let decode = |problem: String| ConnectorError::Decode { server: server.to_owned(), problem };
    let stream = timeout(PATIENCE, TcpStream::connect(server)).await;
    let stream = stream.map_err(|_| connect(late("nobody answered")))?.map_err(|error| connect(error.to_string()))?;
    let bytes = timeout(PATIENCE, answer(stream)).await.map_err(|_| read(late("it was not whole")))?.map_err(read)?;
    let value = gob::read(&bytes).map_err(|error| decode(error.to_string()))?;
    endpoints(value).map_err(|problem| decode(problem.to_owned()))
}

/// Reads until one value is there, or the peer closes: some keep the connection open.
async fn answer(mut stream: TcpStream) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while !gob::is_complete(&bytes) {
        if bytes.len() > LIMIT {
            return Err(format!("it is longer than {LIMIT} bytes"));
        }
        if stream.read_buf(&mut bytes).await.map_err(|error| error.to_string())? == 0 {
            break;
        }
    }
    Ok(bytes)
}

fn endpoints(value: Value) -> Result<Vec<Json>, &'static str> {
    let Value::List(list) = value else { return Err("it holds something else than a list") };
    list.into_iter()
        .map(|element| match element {
            Value::Struct(fields) => Ok(endpoint(&fields)),
            _ => Err("an element of the list is no structure"),
        })
        .collect()
}

/// The fields of an endpoint by their names in Go, as JSON has them. What has another type is taken over as it is: the
/// reader of the object says what is wrong with it.
fn endpoint(fields: &BTreeMap<String, Value>) -> Json {
    let field = |name: &str| fields.get(name).map_or(Json::Null, to_json);
    let properties = match fields.get("ProviderSpecific") {
        Some(Value::List(list)) => list.iter().map(property).collect(),
        _ => Vec::new(),
    };
    json!({
        "dnsName": field("DNSName"), "targets": field("Targets"), "recordType": field("RecordType"),
        "setIdentifier": field("SetIdentifier"), "recordTTL": field("RecordTTL"), "labels": field("Labels"),
        "providerSpecific": properties,
    })
}

fn property(value: &Value) -> Json {
    let fields = match value {
        Value::Struct(fields) => fields.clone(),
        _ => BTreeMap::new(),
    };
    let field = |name: &str| fields.get(name).map_or(Json::Null, to_json);
    json!({"name": field("Name"), "value": field("Value")})
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::Uint(value) => json!(value),
        Value::Float(bits) => json!(f64::from_bits(*bits)),
        Value::Text(value) => json!(value),
        Value::List(list) => list.iter().map(to_json).collect(),
        Value::Map(fields) | Value::Struct(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), to_json(value))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    use super::*;

    /// A server that sends these bytes to the first who connects, and then closes or not; its address.
    async fn server(bytes: Vec<u8>, closes: bool) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(&bytes).await.unwrap();
            if !closes {
                std::future::pending::<()>().await;
            }
        });
        address
    }

    #[tokio::test]
    async fn one_endpoint() {
        let expected = json!({
            "dnsName": "abc.example.org", "targets": ["1.2.3.4"], "recordType": "A", "setIdentifier": null,
            "recordTTL": 180, "labels": {"resource": "x"}, "providerSpecific": [{"name": "aws/weight", "value": "10"}],
        });
        for closes in [true, false] {
            let address = server(gob::tests::one(), closes).await;
            assert_eq!(fetch(&address).await.unwrap(), std::slice::from_ref(&expected), "closes: {closes}");
        }
    }

    #[tokio::test]
    async fn whatever_is_not_whole_is_an_error() {
        let mut none = gob::tests::one();
        none.truncate(none.len() - 0x48);
        none.extend([0x04, 0xff, 0x8c, 0x00, 0x00]);
        assert_eq!(fetch(&server(none, true).await).await.unwrap(), Vec::<Json>::new());
        let mut half = gob::tests::one();
        half.truncate(200);
        for (bytes, expected) in [
            (Vec::new(), "is no list of endpoints in gob encoding: the data ends in the middle"),
            (half, "the data ends in the middle"),
            (b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), "is no list of endpoints in gob encoding"),
        ] {
            let error = fetch(&server(bytes, true).await).await.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
        assert!(fetch(&gone).await.unwrap_err().to_string().contains("no connection"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_peer_is_not_waited_for_without_end() {
        let address = server(Vec::new(), false).await;
        let error = fetch(&address).await.unwrap_err().to_string();
        assert!(error.ends_with("it was not whole within 30 s"), "{error}");
    }
}
