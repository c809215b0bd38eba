//! The media type of the protocol, which carries its version.
//!
//! In: a Content-Type. Out: whether it is that of the protocol, in which spelling and version.

/// The media type of the protocol, spelled exactly so.
pub(crate) const MEDIA_TYPE: &str = "application/external.dns.webhook+json;version=1";

/// How far a Content-Type is that of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media<'a> {
    /// To the letter.
    Exact,
    /// The same in another spelling.
    Similar,
    /// The media type of the protocol in another version.
    Version(&'a str),
    /// Another one, or none.
    Other,
}

impl<'a> Media<'a> {
    /// Judges a Content-Type.
    pub(crate) fn of(media: Option<&'a str>) -> Self {
        let Some(media) = media else { return Self::Other };
        if media == MEDIA_TYPE {
            return Self::Exact;
        }
        let mut parts = media.split(';').map(str::trim);
        if !parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/external.dns.webhook+json")) {
            return Self::Other;
        }
        let version =
            |part: &'a str| part.split_once('=').filter(|(key, _)| key.trim().eq_ignore_ascii_case("version"));
        match parts.find_map(version).map(|(_, value)| value.trim().trim_matches('"')) {
            Some("1") | None => Self::Similar,
            Some(other) => Self::Version(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types() {
        for (media, expected) in [
            (Some(MEDIA_TYPE), Media::Exact),
            (Some("application/external.dns.webhook+json; version=1"), Media::Similar),
            (Some("Application/External.DNS.webhook+json;Version=\"1\";charset=utf-8"), Media::Similar),
            (Some("application/external.dns.webhook+json"), Media::Similar),
            (Some("application/external.dns.webhook+json;version=2"), Media::Version("2")),
            (Some("application/json"), Media::Other),
            (Some(""), Media::Other),
            (None, Media::Other),
        ] {
            assert_eq!(Media::of(media), expected, "{media:?}");
        }
    }
}
