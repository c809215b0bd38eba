//! What a zone may hold by its plan.
//!
//! <https://developers.cloudflare.com/dns/manage-dns-records/reference/record-attributes/>,
//! <https://developers.cloudflare.com/dns/manage-dns-records/how-to/batch-record-changes/>

use zonewright_core::Ttl;
use zonewright_core::capability::TtlRange;

use crate::convert::AUTOMATIC;
use crate::wire;

/// What is paid for a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Plan {
    /// Nothing. Also where the plan is not known: it has the narrowest limits.
    #[default]
    Free,
    /// Pro and business, whose limits are the same.
    Paid,
    /// Enterprise.
    Enterprise,
}

impl Plan {
    /// The plan that a zone says it has.
    pub(crate) fn of(plan: Option<&wire::Plan>) -> Self {
        let Some(plan) = plan else { return Self::Free };
        let text = plan.legacy_id.as_deref().or(plan.name.as_deref()).unwrap_or_default().to_ascii_lowercase();
        match text.split_whitespace().next() {
            Some("enterprise" | "partners_enterprise") => Self::Enterprise,
            Some("pro" | "business" | "partners_pro" | "partners_business") => Self::Paid,
            _ => Self::Free,
        }
    }

    /// Most changes in one batch.
    pub(crate) fn batch(self) -> usize {
        match self {
            Self::Free => 200,
            Self::Paid | Self::Enterprise => 3_500,
        }
    }

    /// Most characters of a comment.
    pub(crate) fn comment(self) -> usize {
        match self {
            Self::Free => 100,
            Self::Paid | Self::Enterprise => 500,
        }
    }

    /// Most tags of a record.
    pub(crate) fn tags(self) -> usize {
        match self {
            Self::Free => 0,
            Self::Paid | Self::Enterprise => 20,
        }
    }

    /// The TTLs that can be stated; without one the service has its own.
    pub(crate) fn ttl(self) -> TtlRange {
        let seconds = |seconds| Ttl::from_secs(seconds).unwrap_or(Ttl::ZERO);
        let least = match self {
            Self::Free | Self::Paid => 60,
            Self::Enterprise => 30,
        };
        TtlRange { min: seconds(least), max: seconds(86_400), default: seconds(AUTOMATIC) }
    }
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Free => "free",
            Self::Paid => "pro or business",
            Self::Enterprise => "enterprise",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_by_either_name() {
        let plan = |id: Option<&str>, name: Option<&str>| {
            let plan = wire::Plan { legacy_id: id.map(str::to_owned), name: name.map(str::to_owned) };
            Plan::of(Some(&plan))
        };
        assert_eq!(plan(Some("free"), Some("Free Website")), Plan::Free);
        assert_eq!(plan(Some("pro"), None), Plan::Paid);
        assert_eq!(plan(None, Some("Business Website")), Plan::Paid);
        assert_eq!(plan(Some("enterprise"), None), Plan::Enterprise);
        assert_eq!(plan(None, Some("Enterprise Website")), Plan::Enterprise);
        assert_eq!((plan(Some("new"), None), Plan::of(None)), (Plan::Free, Plan::Free));
    }
}
