//! Proofs over `cargo tree`: what a package, or a set of features, must not pull in.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result, bail};

use crate::process::capture;
use crate::workspace::{self, Member};

/// One statement about a dependency tree. In every pattern a `*` at the end stands for anything.
struct Proof {
    /// The members that it is about.
    package: &'static str,
    /// Members that the pattern matches and that it is not about.
    except: &'static [&'static str],
    features: Features,
    reach: Reach,
    /// The packages that must not be there; the member itself is not counted.
    forbidden: &'static [&'static str],
}

/// The features to look at.
#[derive(Clone, Copy)]
enum Features {
    Default,
    /// These alone, without the default ones.
    Only(&'static str),
    /// Those of the image but one.
    ImageWithout(&'static str),
    All,
}

/// How far to look.
#[derive(Clone, Copy)]
enum Reach {
    /// Everything that is linked in.
    All,
    /// What the member's own manifest names.
    Direct,
}

/// Who may depend on a package directly.
struct Users {
    package: &'static str,
    features: Features,
    of: &'static str,
    allowed: &'static [&'static str],
}

const PROOFS: &[Proof] = &[
    // The small binary holds no cloud SDK, no second HTTP client and no server of ours.
    Proof {
        package: "zonewright",
        except: &[],
        features: Features::Only("provider-rfc2136"),
        reach: Reach::All,
        forbidden: &["reqwest", "aws-*", "google-cloud*", "azure_*", "hickory-server"],
    },
    // The image is one static binary: it links no library of the system.
    Proof {
        package: "zonewright",
        except: &[],
        features: Features::Only("full"),
        reach: Reach::All,
        forbidden: &["libgssapi", "libgssapi-sys", "openssl-sys"],
    },
    // Each client of AWS comes with what is kept there alone.
    Proof {
        package: "zonewright",
        except: &[],
        features: Features::ImageWithout("registry-dynamodb"),
        reach: Reach::All,
        forbidden: &["aws-sdk-dynamodb", "zonewright-registry-dynamodb"],
    },
    Proof {
        package: "zonewright",
        except: &[],
        features: Features::ImageWithout("provider-route53"),
        reach: Reach::All,
        forbidden: &["aws-sdk-route53", "zonewright-provider-route53"],
    },
    Proof {
        package: "zonewright",
        except: &[],
        features: Features::Only("provider-route53"),
        reach: Reach::All,
        forbidden: &["aws-sdk-dynamodb", "google-cloud*", "azure_*", "reqwest", "kube", "zonewright-registry-dynamodb"],
    },
    // It is asked for by the client of the house alone.
    Proof {
        package: "zonewright",
        except: &[],
        features: Features::ImageWithout("provider-cloudflare"),
        reach: Reach::All,
        forbidden: &["cloudflare", "zonewright-provider-cloudflare"],
    },
    Proof {
        package: "zonewright",
        except: &[],
        features: Features::Only("provider-cloudflare"),
        reach: Reach::All,
        forbidden: &[
            "aws-*",
            "cloudflare",
            "google-cloud*",
            "azure_*",
            "reqwest",
            "kube",
            "zonewright-registry-dynamodb",
        ],
    },
    // So is this one, tokens included.
    Proof {
        package: "zonewright",
        except: &[],
        features: Features::ImageWithout("provider-clouddns"),
        reach: Reach::All,
        forbidden: &["google-cloud*", "zonewright-provider-clouddns"],
    },
    Proof {
        package: "zonewright",
        except: &[],
        features: Features::Only("provider-clouddns"),
        reach: Reach::All,
        forbidden: &[
            "aws-*",
            "cloudflare",
            "google-cloud*",
            "azure_*",
            "reqwest",
            "kube",
            "zonewright-registry-dynamodb",
        ],
    },
    // And this one.
    Proof {
        package: "zonewright",
        except: &[],
        features: Features::ImageWithout("provider-azure"),
        reach: Reach::All,
        forbidden: &["azure_*", "zonewright-provider-azure"],
    },
    Proof {
        package: "zonewright",
        except: &[],
        features: Features::Only("provider-azure"),
        reach: Reach::All,
        forbidden: &[
            "aws-*",
            "cloudflare",
            "google-cloud*",
            "azure_*",
            "reqwest",
            "kube",
            "zonewright-registry-dynamodb",
        ],
    },
    // Its requests go over the client of the house: rustls with ring, as everything else.
    Proof {
        package: "zonewright-aws",
        except: &[],
        features: Features::All,
        reach: Reach::All,
        forbidden: &[
            "aws-smithy-http-client",
            "aws-lc-rs",
            "aws-lc-sys",
            "openssl-sys",
            "zonewright-engine",
            "zonewright-provider-*",
            "zonewright-registry*",
        ],
    },
    // The simulator has a model of the table.
    Proof {
        package: "zonewright-simulator",
        except: &[],
        features: Features::All,
        reach: Reach::All,
        forbidden: &["aws-*", "kube", "kube-*", "hyper"],
    },
    // It is asked for over rustls with ring, as everything else.
    Proof {
        package: "zonewright-registry-dynamodb",
        except: &[],
        features: Features::All,
        reach: Reach::All,
        forbidden: &[
            "aws-lc-rs",
            "aws-lc-sys",
            "openssl-sys",
            "kube",
            "kube-*",
            "k8s-openapi",
            "zonewright-provider-*",
        ],
    },
    // The vocabulary and the decisions are pure.
    Proof {
        package: "zonewright-core",
        except: &[],
        features: Features::All,
        reach: Reach::All,
        forbidden: &["kube", "kube-*", "k8s-openapi", "hyper", "hyper-*", "rustls", "reqwest", "zonewright-*"],
    },
    // What commands and pages share with the daemon is vocabulary.
    Proof {
        package: "zonewright-api",
        except: &[],
        features: Features::All,
        reach: Reach::Direct,
        forbidden: &["tokio", "kube", "hyper", "zonewright-engine", "zonewright-registry", "zonewright-provider-*"],
    },
    // What moves knows providers, registries and sources by their traits alone.
    Proof {
        package: "zonewright-engine",
        except: &[],
        features: Features::All,
        reach: Reach::All,
        forbidden: &[
            "kube",
            "kube-*",
            "k8s-openapi",
            "hyper",
            "hyper-*",
            "rustls",
            "reqwest",
            "zonewright-provider-*",
            "zonewright-registry",
            "zonewright-source-*",
            "zonewright-cluster",
        ],
    },
    // It costs most of the compile time, so one crate pays for it.
    Proof {
        package: "*",
        except: &["zonewright-cluster"],
        features: Features::All,
        reach: Reach::Direct,
        forbidden: &["k8s-openapi"],
    },
    // Providers never see each other, the cluster or the registry.
    Proof {
        package: "zonewright-provider-*",
        except: &[],
        features: Features::All,
        reach: Reach::All,
        forbidden: &[
            "zonewright-provider-*",
            "zonewright-registry",
            "zonewright-engine",
            "zonewright-cluster",
            "zonewright-source-*",
            "kube",
            "kube-*",
            "k8s-openapi",
        ],
    },
    // The extension controller of Gardener takes providers and registries as they are given to it.
    Proof {
        package: "zonewright-gardener",
        except: &[],
        features: Features::All,
        reach: Reach::All,
        forbidden: &["aws-*", "reqwest", "zonewright-provider-*", "zonewright-registry*", "zonewright-source-*"],
    },
    // Providers speak HTTP by one client, which keeps pace, repeats and measures for all of them.
    Proof {
        package: "zonewright-provider-*",
        except: &[],
        features: Features::All,
        reach: Reach::Direct,
        forbidden: &["hyper", "hyper-*", "reqwest"],
    },
    // That client knows requests and errors, and nothing of what they are about.
    Proof {
        package: "zonewright-http",
        except: &[],
        features: Features::All,
        reach: Reach::All,
        forbidden: &[
            "aws-*",
            "kube",
            "kube-*",
            "k8s-openapi",
            "openssl-sys",
            "reqwest",
            "zonewright-cluster",
            "zonewright-engine",
            "zonewright-provider-*",
            "zonewright-registry*",
            "zonewright-source-*",
        ],
    },
    // Developer tasks build in seconds, and work when nothing else compiles.
    Proof {
        package: "xtask",
        except: &[],
        features: Features::Default,
        reach: Reach::All,
        forbidden: &["zonewright*", "tokio"],
    },
];

const USERS: &[Users] = &[
    // One crate talks to DynamoDB.
    Users {
        package: "zonewright",
        features: Features::All,
        of: "aws-sdk-dynamodb",
        allowed: &["zonewright-registry-dynamodb"],
    },
    // The only HTTP in the small binary is what kube and axum bring.
    Users {
        package: "zonewright",
        features: Features::Only("provider-rfc2136"),
        of: "hyper",
        allowed: &["kube-client", "axum", "hyper-util", "hyper-rustls", "hyper-timeout", "tower-http"],
    },
];

pub(super) fn check() -> Result<Vec<String>> {
    let members = workspace::members()?;
    let mut problems = Vec::new();
    for proof in PROOFS {
        for member in proof.members(&members) {
            problems.extend(proof.problems(member).unwrap_or_else(unproven));
        }
    }
    for users in USERS {
        // A package that does not exist has no users.
        for member in members.iter().filter(|member| member.name == users.package) {
            problems.extend(users.problems(member).unwrap_or_else(unproven));
        }
    }
    Ok(problems)
}

/// A proof that cannot be made, such as one about a feature that does not exist, is a finding like any other.
#[expect(clippy::needless_pass_by_value, reason = "the signature that unwrap_or_else wants")]
fn unproven(error: anyhow::Error) -> Vec<String> {
    vec![format!("cannot prove: {error:#}")]
}

impl Proof {
    fn members<'a>(&self, members: &'a [Member]) -> impl Iterator<Item = &'a Member> {
        members
            .iter()
            .filter(|member| matches(self.package, &member.name) && !self.except.contains(&member.name.as_str()))
    }

    fn problems(&self, member: &Member) -> Result<Vec<String>> {
        let mut arguments = self.features.arguments(member)?;
        if let Reach::Direct = self.reach {
            arguments.extend(["--depth", "1"].map(str::to_owned));
        }
        let packages = tree(&member.name, &arguments)?;
        let found = packages.iter().filter(|package| **package != member.name);
        let found = found.filter(|package| self.forbidden.iter().any(|pattern| matches(pattern, package)));
        Ok(found
            .map(|package| format!("{}{} {} {package}", member.name, self.features.shown(), self.reach.verb()))
            .collect())
    }
}

impl Users {
    fn problems(&self, member: &Member) -> Result<Vec<String>> {
        let mut arguments = self.features.arguments(member)?;
        let packages = tree(self.package, &arguments)?;
        if !packages.contains(self.of) {
            return Ok(Vec::new());
        }
        arguments.extend(["--invert", self.of, "--depth", "1"].map(str::to_owned));
        let users = tree(self.package, &arguments)?;
        let found = users.iter().filter(|user| *user != self.of && !self.allowed.contains(&user.as_str()));
        Ok(found.map(|user| format!("{}{}: {user} uses {}", self.package, self.features.shown(), self.of)).collect())
    }
}

impl Features {
    fn arguments(self, member: &Member) -> Result<Vec<String>> {
        let alone =
            |features: &str| vec!["--no-default-features".to_owned(), "--features".to_owned(), features.to_owned()];
        Ok(match self {
            Self::Default => Vec::new(),
            Self::Only(features) => alone(features),
            Self::ImageWithout(feature) => {
                let path = member.folder.join("Cargo.toml");
                let manifest = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
                alone(&image(&manifest, feature).with_context(|| format!("`full` of {} lacks {feature}", member.name))?)
            }
            Self::All => vec!["--all-features".to_owned()],
        })
    }

    fn shown(self) -> String {
        match self {
            Self::Default | Self::All => String::new(),
            Self::Only(features) => format!(" with {features} alone"),
            Self::ImageWithout(feature) => format!(" without {feature}"),
        }
    }
}

impl Reach {
    fn verb(self) -> &'static str {
        match self {
            Self::All => "pulls in",
            Self::Direct => "depends directly on",
        }
    }
}

/// The features that the image is built with, but for one; `None` if it is not among them.
fn image(manifest: &str, without: &str) -> Option<String> {
    let list = manifest.lines().find_map(|line| line.strip_prefix("full = [")?.strip_suffix(']'))?;
    let all: Vec<&str> = list.split(',').map(|feature| feature.trim().trim_matches('"')).collect();
    let rest: Vec<&str> = all.iter().copied().filter(|feature| *feature != without).collect();
    (rest.len() < all.len()).then(|| rest.join(","))
}

/// The names of the packages that cargo's tree for `package` shows, over normal dependencies.
fn tree(package: &str, arguments: &[String]) -> Result<BTreeSet<String>> {
    let fixed = ["tree", "--locked", "--edges", "normal", "--prefix", "none", "--format", "{p}", "--package", package];
    let text = capture(workspace::cargo()?.args(fixed).args(arguments))?;
    let names: BTreeSet<String> = text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    if names.is_empty() {
        bail!("cargo tree shows nothing for {package}: the proof would hold for the wrong reason");
    }
    Ok(names)
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_without_a_feature() {
        let manifest = "[features]\ndefault = []\nfull = [\"a\", \"b\", \"c\"]\n";
        assert_eq!(image(manifest, "b").as_deref(), Some("a,c"));
        assert_eq!(image(manifest, "d"), None);
    }

    #[test]
    fn a_star_stands_for_any_ending() {
        let check = |pattern, name, expected| assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        check("aws-*", "aws-config", true);
        check("aws-*", "paws-x", false);
        check("kube", "kube", true);
        check("kube", "kube-client", false);
        check("*", "anything", true);
    }
}
