//! Commands of pages: those of this program are parsed by itself or run; any other says what it takes to run it.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use zonewright::Catalog;
use zonewright::flags::{Stop, parse};

use crate::blocks::{Block, blocks};
use crate::{pages, read, root};

/// What a page may ask the reader to type.
const PROGRAMS: &[&str] = &[
    "/zonewright",
    "aws",
    "az",
    "cargo",
    "cat",
    "curl",
    "dig",
    "docker",
    "flarectl",
    "gcloud",
    "git",
    "helm",
    "kubectl",
    "mdbook",
    "mkdir",
    "nsupdate",
    "skopeo",
    "tsig-keygen",
    "zonewright",
];

/// Lines that a backslash continues, in one.
fn joined(text: &str) -> String {
    let mut parts = text.split("\\\n");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| format!("{} {}", text.trim_end(), part.trim_start()))
}

/// The commands of a block, without prompts, variables before them and explanations far to the right.
fn commands(block: &Block) -> Vec<String> {
    let is_variable = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    let mut commands = Vec::new();
    for line in joined(&block.text).lines() {
        let line = line.trim().trim_start_matches("$ ");
        // What is done of its status is not the command's.
        let line = line.split("   ").next().and_then(|line| line.split(" || ").next()).unwrap_or(line);
        let words: Vec<&str> = line.split_whitespace().skip_while(|word| is_variable(word)).collect();
        if words.first().is_some_and(|first| PROGRAMS.contains(first)) {
            commands.push(words.join(" "));
        }
    }
    commands
}

/// Whether this program takes a command line. Providers find their secrets in the environment.
fn is_taken(arguments: &str) -> Result<(), String> {
    let secret = |name: &str| -> Option<OsString> {
        ["SECRET", "TOKEN", "PASSWORD"].iter().any(|end| name.ends_with(end)).then(|| "c2VjcmV0".into())
    };
    let arguments = arguments.split(['|', '>', ';']).next().unwrap_or_default();
    let words = arguments.split_whitespace().map(|word| OsString::from(word.trim_matches(['\'', '"'])));
    match parse(&Catalog::built_in(), words, &secret) {
        Ok(_) | Err(Stop::Answer(_)) => Ok(()),
        Err(Stop::Refusal(why)) => Err(why),
    }
}

/// What is wrong with a command of a page.
fn check(command: &str, mark: Option<&str>) -> Result<(), String> {
    let needs = mark.is_some_and(|mark| mark.starts_with("needs: "));
    let (program, rest) = command.split_once(' ').unwrap_or((command, ""));
    if let Some(feature) = mark.and_then(|mark| mark.strip_prefix("feature: ")) {
        let built = matches!(feature, "rfc2136-gss-tsig" if cfg!(feature = "rfc2136-gss-tsig"));
        return if built { is_taken(rest) } else { Ok(()) };
    }
    // `kubectl exec deploy/NAME` means a Deployment.
    let paths = rest.split_whitespace().filter(|word| word.starts_with("deploy/") && !rest.starts_with("exec "));
    for path in paths {
        if !root().join(path).exists() {
            return Err(format!("{path} is not there"));
        }
    }
    match program {
        "zonewright" | "/zonewright" => is_taken(rest),
        "cargo" => {
            if let Some(arguments) = rest.strip_prefix("run -- ") {
                return is_taken(arguments);
            }
            let task = rest.strip_prefix("xtask ").and_then(|rest| rest.split_whitespace().next());
            let known = |task: &str| read("xtask/src/main.rs").contains(&format!("(\"{task}\", "));
            match task {
                Some(task) if known(task) => Ok(()),
                _ => Err("neither this program nor a task of xtask".to_owned()),
            }
        }
        "kubectl" if rest.contains(" -- /zonewright ") => {
            is_taken(rest.split_once(" -- /zonewright ").map(|(_, rest)| rest).unwrap_or_default())
        }
        _ if needs => Ok(()),
        _ => Err("say before it what it takes to run it: <!-- needs: a cluster -->, say, or <!-- run -->".to_owned()),
    }
}

#[test]
fn every_command_is_taken_or_says_what_it_needs() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in pages() {
        for block in blocks(&page.text).iter().filter(|block| block.mark.as_deref() != Some("run")) {
            for command in commands(block) {
                seen += 1;
                if let Err(why) = check(&command, block.mark.as_deref()) {
                    wrong.push(format!("{}:{}: {command}: {why}", page.path, block.line));
                }
            }
        }
    }
    assert!(seen >= 40, "{seen}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The arguments of the containers that pages show.
#[test]
fn the_arguments_in_manifests_are_taken() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in pages() {
        for block in blocks(&page.text) {
            let given = block.text.lines().filter_map(|line| line.trim().strip_prefix("- --"));
            let given: Vec<String> = given.map(|flag| format!("--{flag}")).collect();
            if given.is_empty() {
                continue;
            }
            seen += 1;
            if let Err(why) = is_taken(&given.join(" ")) {
                wrong.push(format!("{}:{}: {why}", page.path, block.line));
            }
        }
    }
    assert!(seen >= 4, "{seen}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_a_page_says_to_run_runs_and_prints_what_it_says() {
    let mut ran = 0;
    for page in pages() {
        let dir = tempfile::tempdir().unwrap();
        let mut printed = String::new();
        for block in blocks(&page.text) {
            match block.mark.as_deref() {
                Some("run") => {
                    printed = run(&block.text, dir.path(), &format!("{}:{}", page.path, block.line));
                    ran += 1;
                }
                Some("prints") => {
                    for line in block.text.lines().map(str::trim).filter(|line| !line.is_empty()) {
                        assert!(printed.contains(line), "{}:{}: {line} is not in\n{printed}", page.path, block.line);
                    }
                }
                _ => {}
            }
        }
    }
    assert!(ran >= 3, "{ran}");
}

fn run(script: &str, dir: &Path, place: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_zonewright"));
    let folder = program.parent().and_then(Path::to_str).expect("the folder of the program");
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let output =
        Command::new("sh").args(["-euc", script]).current_dir(dir).env("PATH", path).output().expect("a shell");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{place}: {}\n{text}", output.status);
    text
}

#[test]
fn what_is_wrong_with_a_command_is_found() {
    for (command, mark) in [
        ("zonewright --no-such-flag", None),
        ("zonewright --provider=rfc2136 --rfc2136-hots=x", None),
        ("cargo xtask nonsense", None),
        ("cargo run -- demos", None),
        ("kubectl get pods", None),
        ("kubectl apply -k deploy/nothing", Some("needs: a cluster")),
        ("kubectl exec x -- /zonewright planz", Some("needs: a cluster")),
    ] {
        assert!(check(command, mark).is_err(), "{command}");
    }
    assert_eq!(check("kubectl apply -k deploy/kustomize/rfc2136", Some("needs: a cluster")), Ok(()));
    assert_eq!(check("zonewright plans", None), Ok(()));
}

#[test]
fn commands_are_found_in_blocks() {
    let text = "X_Y=1 zonewright plans \\\n  --json   says it as JSON\nnothing\n$ cargo run -- demo\n";
    let block = Block { line: 1, mark: None, text: text.to_owned() };
    assert_eq!(commands(&block), ["zonewright plans --json", "cargo run -- demo"]);
}
