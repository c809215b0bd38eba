//! The flags that a printed command needs so that it means the same daemon when it is pasted.

use std::path::Path;

use zonewright_core::catalog::Settings;

use crate::migrate::words::quote;

/// Flags by which a command finds a daemon, its state and its cluster.
const FLAGS: [&str; 5] = ["state-dir", "txt-owner-id", "kubeconfig", "server", "state-namespace"];

/// Those that were given, each behind a blank; empty where none was.
pub(crate) fn given(settings: &Settings) -> String {
    let given = FLAGS.into_iter().filter(|flag| settings.given(flag) && !settings.text(flag).is_empty());
    given.map(|flag| one(flag, settings.text(flag))).collect()
}

/// Those that a command to a daemon takes: its folder and its owner id. `owner` is whose journal it writes.
pub(crate) fn of_daemon(settings: &Settings, owner: &str) -> String {
    let folder = Some(settings.text("state-dir")).filter(|folder| !folder.is_empty());
    let owner = Some(owner).filter(|owner| !owner.is_empty() && *owner != "default");
    let flags = [folder.map(|folder| one("state-dir", folder)), owner.map(|owner| one("txt-owner-id", owner))];
    flags.into_iter().flatten().collect()
}

/// A path is absolute: the command may be pasted elsewhere.
fn one(flag: &str, value: &str) -> String {
    let absolute = || std::path::absolute(Path::new(value)).ok()?.to_str().map(str::to_owned);
    let path = matches!(flag, "state-dir" | "kubeconfig").then(absolute).flatten();
    format!(" --{flag}={}", quote(&path.unwrap_or_else(|| value.to_owned())))
}

#[cfg(test)]
mod tests {
    use zonewright_core::catalog::FlagValue;

    use super::*;

    #[test]
    fn only_what_was_given_and_paths_are_absolute() {
        let mut settings = Settings::default();
        for flag in FLAGS {
            settings.set(flag, FlagValue::Text("default".to_owned()), false);
        }
        assert_eq!(given(&settings), "");
        settings.set("state-dir", FlagValue::Text("/var/state of mine".to_owned()), true);
        settings.set("txt-owner-id", FlagValue::Text("me".to_owned()), true);
        assert_eq!(given(&settings), " --state-dir='/var/state of mine' --txt-owner-id=me");
        settings.set("state-dir", FlagValue::Text("state".to_owned()), true);
        let here = std::env::current_dir().expect("a folder");
        assert_eq!(of_daemon(&settings, "me"), format!(" --state-dir={}/state --txt-owner-id=me", here.display()));
        settings.set("state-dir", FlagValue::Text(String::new()), false);
        assert_eq!(of_daemon(&settings, "default"), "");
    }
}
