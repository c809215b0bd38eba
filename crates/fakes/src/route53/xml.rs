//! The XML of requests and answers. Requests are read by a parser that knows namespaces; answers are trees that are written
//! whole.

use std::borrow::Cow;
use std::fmt::Write as _;

use roxmltree::{Document, Node};

use super::refusal::Refusal;

/// The namespace of every document of Route 53.
pub(super) const NAMESPACE: &str = "https://route53.amazonaws.com/doc/2013-04-01/";

/// An element of an answer.
#[derive(Debug, Clone)]
pub(super) struct Element {
    name: &'static str,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Text(String),
    Children(Vec<Element>),
}

impl Element {
    pub(super) fn text(name: &'static str, text: &(impl ToString + ?Sized)) -> Self {
        Self { name, content: Content::Text(text.to_string()) }
    }

    pub(super) fn list(name: &'static str, children: Vec<Self>) -> Self {
        Self { name, content: Content::Children(children) }
    }

    /// A document with this root.
    pub(super) fn document(&self, namespace: &str) -> String {
        let mut text = "<?xml version=\"1.0\"?>\n".to_owned();
        self.write(&mut text, &format!(" xmlns=\"{namespace}\""));
        text
    }

    fn write(&self, text: &mut String, attributes: &str) {
        // Writing into a string does not fail.
        let _ = write!(text, "<{}{attributes}>", self.name);
        match &self.content {
            Content::Text(content) => text.push_str(&escaped(content)),
            Content::Children(children) => children.iter().for_each(|child| child.write(text, "")),
        }
        let _ = write!(text, "</{}>", self.name);
    }
}

fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"']) {
        return Cow::Borrowed(text);
    }
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    Cow::Owned(text)
}

/// Reads a request whose root is `expected`, in the namespace of the service, and hands its root on.
pub(super) fn request<T>(
    body: &[u8],
    expected: &str,
    read: impl FnOnce(Node<'_, '_>) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let text = std::str::from_utf8(body).map_err(|problem| Refusal::malformed(problem.to_string()))?;
    let document = Document::parse(text).map_err(|problem| Refusal::malformed(problem.to_string()))?;
    let root = document.root_element();
    if !root.has_tag_name((NAMESPACE, expected)) {
        let found = root.tag_name().name();
        return Err(Refusal::malformed(format!("{found} is not valid, expected {expected}")));
    }
    read(root)
}

/// The child of that name.
pub(super) fn child<'a>(node: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    node.children().find(|child| child.has_tag_name((NAMESPACE, name)))
}

/// The text of the child of that name; empty if it has none.
pub(super) fn text<'a>(node: Node<'a, 'a>, name: &str) -> Option<&'a str> {
    child(node, name).map(|child| child.text().unwrap_or_default())
}

/// The elements named `name` in the child `list`.
pub(super) fn list<'a>(node: Node<'a, 'a>, list: &str, name: &str) -> Vec<Node<'a, 'a>> {
    let of = |list: Node<'a, 'a>| list.children().filter(|child| child.has_tag_name((NAMESPACE, name))).collect();
    child(node, list).map(of).unwrap_or_default()
}

/// Refuses elements that the reference does not have in this place.
pub(super) fn only(node: Node<'_, '_>, names: &[&str]) -> Result<(), Refusal> {
    let known = |child: &Node<'_, '_>| names.iter().any(|name| child.has_tag_name((NAMESPACE, *name)));
    match node.children().filter(Node::is_element).find(|child| !known(child)) {
        Some(child) => Err(Refusal::malformed(format!(
            "unexpected element {} in {}",
            child.tag_name().name(),
            node.tag_name().name()
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let texts = ["plain", "<&>\"'", " two  spaces ", "\u{e9}"];
        for content in texts {
            let list = Element::list("Items", vec![Element::text("Item", content), Element::text("Item", "")]);
            let written = Element::list("Root", vec![list]).document(NAMESPACE);
            let read = request(written.as_bytes(), "Root", |root| {
                Ok(super::list(root, "Items", "Item")
                    .iter()
                    .map(|item| item.text().unwrap_or_default().to_owned())
                    .collect())
            });
            assert_eq!(read, Ok(vec![content.to_owned(), String::new()]));
        }
    }

    #[test]
    fn other_documents_are_refused() {
        let good = format!("<Root xmlns=\"{NAMESPACE}\"/>");
        assert_eq!(request(good.as_bytes(), "Root", |_| Ok(())), Ok(()));
        for body in ["", "Root", "<Root/>", "<Root>", &good.replace("Root", "Other"), &good.replace("2013", "2012")] {
            let refusal = request(body.as_bytes(), "Root", |_| Ok(())).unwrap_err();
            assert_eq!(refusal.code, "MalformedInput", "{body}");
        }
        let more = good.replace("/>", "><A/><B/></Root>");
        assert!(request(more.as_bytes(), "Root", |root| only(root, &["A", "B"])).is_ok());
        assert!(request(more.as_bytes(), "Root", |root| only(root, &["A"])).is_err());
    }
}
