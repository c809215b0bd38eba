//! The code of a page: indented blocks, with the mark before each.
//!
//! A mark is a comment in the line above a block: `run` has it run as it stands, `prints` says what the block before it prints,
//! `needs: WHAT` says what it takes to run it, `feature: NAME` names a Cargo feature that the default build has not.

/// A block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// Its first line, counted from 1.
    pub(crate) line: usize,
    pub(crate) mark: Option<String>,
    pub(crate) text: String,
}

/// The blocks of a page. Text that is indented under a point of a list is none unless a mark stands before it.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let lines: Vec<&str> = page.lines().collect();
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    let mut mark: Option<String> = None;
    for (at, line) in lines.iter().enumerate() {
        let blank_above = at == 0 || lines[at - 1].trim().is_empty();
        match line.strip_prefix("    ") {
            Some(code) if open => push(&mut blocks, code),
            Some(code) if blank_above && !code.trim().is_empty() => {
                open = true;
                blocks.push(Block { line: at + 1, mark: mark.take(), text: format!("{code}\n") });
            }
            _ if line.trim().is_empty() => {
                let goes_on = lines[at..].iter().find(|line| !line.trim().is_empty());
                if open && goes_on.is_some_and(|line| line.starts_with("    ")) {
                    push(&mut blocks, "");
                }
            }
            _ => {
                open = false;
                let comment = line.trim().strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->"));
                mark = comment.map(str::to_owned);
            }
        }
    }
    blocks
}

fn push(blocks: &mut [Block], line: &str) {
    if let Some(block) = blocks.last_mut() {
        block.text.push_str(line);
        block.text.push('\n');
    }
}

#[test]
fn blocks_have_their_marks() {
    let page = "Text.\n\n    one\n      two\n\n    three\n\nMore\n    no code\n\n<!-- run -->\n\n    four\n";
    let block =
        |line, mark: Option<&str>, text: &str| Block { line, mark: mark.map(str::to_owned), text: text.to_owned() };
    assert_eq!(blocks(page), [block(3, None, "one\n  two\n\nthree\n"), block(13, Some("run"), "four\n")]);
}
