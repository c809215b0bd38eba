//! The clouds of Azure, and where each gives tokens and takes requests.
//!
//! <https://learn.microsoft.com/entra/identity-platform/authentication-national-cloud>

/// One cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cloud {
    /// Where tokens are given, without a tenant.
    pub(crate) authority: String,
    /// Where requests go.
    pub(crate) endpoint: String,
    /// What tokens are for.
    pub(crate) audience: String,
}

impl Cloud {
    fn of(authority: &str, endpoint: &str) -> Self {
        Self { authority: authority.to_owned(), endpoint: endpoint.to_owned(), audience: endpoint.to_owned() }
    }

    /// The cloud of this name, in any case; `None` for one that is not known, or that has no addresses of its own.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "" | "azurecloud" | "azurepubliccloud" => {
                Some(Self::of("https://login.microsoftonline.com", "https://management.azure.com"))
            }
            "azureusgovernment" | "azureusgovernmentcloud" => {
                Some(Self::of("https://login.microsoftonline.us", "https://management.usgovcloudapi.net"))
            }
            "azurechinacloud" => {
                Some(Self::of("https://login.chinacloudapi.cn", "https://management.chinacloudapi.cn"))
            }
            _ => None,
        }
    }

    /// Whether a name stands for a cloud with addresses of its own.
    pub(crate) fn is_custom(name: &str) -> bool {
        name.trim().eq_ignore_ascii_case("AzureStackCloud")
    }

    /// What a token is asked for.
    pub(crate) fn scope(&self) -> String {
        format!("{}/.default", self.audience.trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, endpoint) in [
            ("", Some("https://management.azure.com")),
            ("AzurePublicCloud", Some("https://management.azure.com")),
            ("AZURECLOUD", Some("https://management.azure.com")),
            ("AzureUSGovernmentCloud", Some("https://management.usgovcloudapi.net")),
            ("AzureUSGovernment", Some("https://management.usgovcloudapi.net")),
            ("AzureChinaCloud", Some("https://management.chinacloudapi.cn")),
            ("AzureStackCloud", None),
            ("AzureGermanCloud", None),
        ] {
            assert_eq!(Cloud::named(name).map(|cloud| cloud.endpoint).as_deref(), endpoint, "{name}");
        }
        assert_eq!(Cloud::named("").unwrap().scope(), "https://management.azure.com/.default");
        assert!(Cloud::is_custom("azurestackcloud") && !Cloud::is_custom("AzureCloud"));
    }
}
