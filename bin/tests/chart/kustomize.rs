//! The kustomizations build as they are written, with an image that can be pulled, arguments that the program takes, and the rights that
//! these arguments need.

use std::collections::BTreeSet;

use serde_json::Value;
use zonewright_testkit::render::{self, Rendered};

use crate::charts::{arguments, pod, root};
use crate::needs_helm;
use crate::rights::{granted, printed};

const OVERLAYS: &[&str] = &["rfc2136", "webhook", "one-namespace"];

#[track_caller]
fn built(overlay: &str) -> Rendered {
    let folder = root().join("deploy/kustomize").join(overlay);
    render::kustomization(&folder).unwrap_or_else(|error| panic!("{overlay}: {error}"))
}

#[test]
fn every_folder_is_built_here() {
    let folders = std::fs::read_dir(root().join("deploy/kustomize")).expect("the kustomizations");
    let folders: BTreeSet<String> =
        folders.map(|folder| folder.expect("a folder").file_name().into_string().expect("a plain name")).collect();
    let known = OVERLAYS.iter().chain(&["base", "registry-configmap"]).map(|name| (*name).to_owned()).collect();
    assert_eq!(folders, known);
}

#[test]
fn images_are_named_with_a_registry_and_a_tag() {
    needs_helm!();
    let page = std::fs::read_to_string(root().join("docs/start.md")).expect("the page");
    for overlay in OVERLAYS {
        let rendered = built(overlay);
        for container in pod(&rendered)["containers"].as_array().expect("containers") {
            let image = container["image"].as_str().expect("an image");
            let (place, tag) = image.rsplit_once(':').unwrap_or((image, ""));
            assert!(place.starts_with("registry.example.com/") && !tag.is_empty(), "{overlay}: {image}");
        }
        let image = pod(&rendered)["containers"][0]["image"].as_str().expect("an image").to_owned();
        assert!(page.contains(&format!("-t {image} ")), "{overlay}: the page pushes another image than {image}");
    }
}

#[test]
fn the_zone_is_that_of_the_page() {
    needs_helm!();
    let page = std::fs::read_to_string(root().join("docs/start.md")).expect("the page");
    let (_, rest) = page.split_once("    zone \"").expect("the page shows a zone of BIND");
    let (zone, _) = rest.split_once('"').expect("the zone's name ends");
    for overlay in ["rfc2136", "one-namespace"] {
        let arguments = arguments(&built(overlay));
        for flag in ["domain-filter", "rfc2136-zone"] {
            assert!(arguments.contains(&format!("--{flag}={zone}")), "{overlay}: {arguments:?}");
        }
    }
}

#[test]
fn the_roles_are_those_of_the_arguments() {
    needs_helm!();
    for overlay in OVERLAYS {
        let rendered = built(overlay);
        assert_eq!(granted(&rendered.objects, "zonewright"), printed(&arguments(&rendered)), "{overlay}");
    }
}

#[test]
fn everything_is_made_after_its_namespace_and_bound_to_the_account() {
    needs_helm!();
    for overlay in OVERLAYS {
        let rendered = built(overlay);
        let kinds: Vec<&str> = rendered.objects.iter().filter_map(|object| object["kind"].as_str()).collect();
        assert_eq!(kinds[0], "Namespace", "{overlay}: {kinds:?}");
        let namespace = &rendered.objects[0]["metadata"]["name"];
        let bindings: Vec<&Value> = rendered.objects.iter().filter(|object| object.get("subjects").is_some()).collect();
        assert!(bindings.len() >= 2, "{overlay}");
        for binding in bindings {
            let subject = &binding["subjects"][0];
            assert_eq!(
                (&subject["kind"], &subject["name"]),
                (&"ServiceAccount".into(), &pod(&rendered)["serviceAccountName"])
            );
            assert_eq!(&subject["namespace"], namespace, "{overlay}: {binding}");
        }
    }
}

#[test]
fn the_arguments_are_taken() {
    needs_helm!();
    for overlay in OVERLAYS {
        let rendered = built(overlay);
        let given = arguments(&rendered).into_iter().map(std::ffi::OsString::from).collect::<Vec<_>>();
        let variables = pod(&rendered)["containers"][0]["env"].as_array().expect("an environment");
        let secret = |name: &str| {
            let stated = variables.iter().any(|variable| variable["name"] == name);
            (stated && name.ends_with("_TSIG_SECRET")).then(|| "c2VjcmV0".into())
        };
        let invocation = zonewright::flags::parse(&zonewright::Catalog::built_in(), given, &secret);
        let invocation = invocation.unwrap_or_else(|error| panic!("{overlay}: {error:?}"));
        assert!(invocation.notices.is_empty(), "{overlay}: {:?}", invocation.notices);
    }
}
