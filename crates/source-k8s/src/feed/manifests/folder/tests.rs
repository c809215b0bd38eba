use super::*;
use crate::objects::Service;
use crate::options::{SourceKind, SourceOptions};

/// A folder in which Services are looked for.
fn of_services(dir: &Path) -> Folder {
    let options = SourceOptions { sources: vec![SourceKind::Service], ..SourceOptions::default() };
    Folder::new(dir.to_owned(), DocumentReads { reads: options.reads(), keep: options.keep() })
}

/// At rest the objects are not gone through.
#[test]
fn a_scan_that_reads_no_file_leaves_everything_in_place() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut folder = of_services(dir.path());
    let kinds = folder.wanted.reads.len();
    let path = dir.path().join("a.yaml");
    let write = |name: &str| {
        fs::write(&path, format!("{{apiVersion: v1, kind: Service, metadata: {{name: {name}}}}}")).expect("written");
    };
    let later = SystemTime::now() + Duration::from_mins(1);
    let scan = |folder: &mut Folder, minutes: u32| {
        let events = folder.scan(later + Duration::from_mins(1) * minutes).events.len();
        (events, folder.in_force().next().map(std::ptr::from_ref))
    };
    write("one");
    let (events, place) = scan(&mut folder, 0);
    assert!(events > 2 && place.is_some(), "a list: {events}");
    // Only that each view is open.
    assert_eq!(scan(&mut folder, 1), (kinds, place));
    write("another");
    assert_eq!(scan(&mut folder, 2).0, 2 + kinds, "one came, one went, and the views are open");
    fs::remove_file(&path).expect("removed");
    assert_eq!(scan(&mut folder, 3), (1 + kinds, None));
}

/// Two writes within one tick of the file system's clock leave the same time, size and inode.
#[test]
fn a_second_write_in_the_same_tick_is_seen() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut folder = of_services(dir.path());
    let tick = SystemTime::now();
    let mut names = |name: &str, age: u64| -> Vec<String> {
        let path = dir.path().join("a.yaml");
        fs::write(&path, format!("{{apiVersion: v1, kind: Service, metadata: {{name: {name}}}}}")).expect("written");
        fs::File::options().append(true).open(&path).and_then(|file| file.set_modified(tick)).expect("a set time");
        folder.scan(tick + Duration::from_millis(age));
        folder.in_force().map(|object| object.key().name.to_string()).collect()
    };
    assert_eq!(names("one", 1), ["one"]);
    assert_eq!(names("two", 2), ["two"]);
}

/// What another file's object hides is had again when that one goes, also where its own file has faults meanwhile.
#[test]
fn what_another_file_hides_comes_back_when_that_one_goes() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut folder = of_services(dir.path());
    let later = SystemTime::now() + Duration::from_mins(1);
    let path = |name: &str| dir.path().join(name);
    let write = |name: &str, host: &str, rest: &str| {
        let text = format!(
            "{{apiVersion: v1, kind: Service, metadata: {{name: one}}, spec: {{externalName: {host}}}}}\n{rest}"
        );
        fs::write(path(name), text).expect("written");
    };
    let mut minutes = 0;
    let mut applied = |folder: &mut Folder| -> (Vec<String>, bool) {
        minutes += 1;
        let events = folder.scan(later + Duration::from_mins(1) * minutes).events;
        let blind = events.iter().any(|event| matches!(event, FeedEvent::Blind(_)));
        let hosts = events.iter().filter_map(|event| match event {
            FeedEvent::Listed(object) | FeedEvent::Applied(object) => {
                Some(object.body::<Service>().expect("a Service").spec.external_name.to_string())
            }
            FeedEvent::Removed(keys) => Some(format!("{} gone", keys.len())),
            _ => None,
        });
        (hosts.collect(), blind)
    };
    let only = |host: &str| (vec![host.to_owned()], false);
    write("b.yaml", "b", "");
    assert_eq!(applied(&mut folder), only("b"));
    write("a.yaml", "a", "");
    assert_eq!(applied(&mut folder), only("a"));
    fs::remove_file(path("a.yaml")).expect("removed");
    assert_eq!(applied(&mut folder), only("b"));
    write("a.yaml", "a", "");
    assert_eq!(applied(&mut folder), only("a"));
    fs::write(path("b.yaml"), "kind: [").expect("written");
    assert_eq!(applied(&mut folder).0, Vec::<String>::new());
    fs::remove_file(path("a.yaml")).expect("removed");
    assert_eq!(applied(&mut folder), only("b"), "what the file held last stays in force");
    write("b.yaml", "b", "");
    assert_eq!(applied(&mut folder), (Vec::new(), false));
    fs::remove_file(path("b.yaml")).expect("removed");
    assert_eq!(applied(&mut folder), only("1 gone"));
}
