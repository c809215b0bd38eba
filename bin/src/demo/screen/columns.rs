//! Texts in columns: how wide each is, and where a text is cut.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// No column that gives way is made narrower.
const LEAST: usize = 8;

/// Between two columns.
pub(super) const GAP: usize = 2;

/// A text in at most `width` columns of the screen; an ellipsis stands for what is cut.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or_default();
        if used > width {
            break;
        }
        out.push(c);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// The widths of columns for these cells: what they need where there is room, else the widest give way. Columns of at most
/// [`LEAST`] never do.
pub(super) fn widths<'a, const N: usize>(rows: impl Iterator<Item = [&'a str; N]>, room: usize) -> [usize; N] {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let room = room.saturating_sub(GAP * N.saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        match widths.iter_mut().max_by_key(|width| **width) {
            Some(widest) if *widest > LEAST => *widest -= 1,
            _ => break,
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_ends_with_an_ellipsis() {
        for (text, width, expected) in [
            ("web.demo.test", 13, "web.demo.test"),
            ("web.demo.test", 12, "web.demo.te…"),
            ("ab", 1, "…"),
            ("ab", 0, ""),
            ("", 0, ""),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
        ] {
            assert_eq!(cut(text, width), expected, "{text} {width}");
        }
    }

    #[test]
    fn the_widest_column_gives_way() {
        let rows = || [["a", "0123456789012345678", "0123456789"], ["bcd", "", ""]].into_iter();
        assert_eq!(widths(rows(), 80), [3, 19, 10]);
        assert_eq!(widths(rows(), 30), [3, 13, 10]);
        assert_eq!(widths(rows(), 23), [3, 8, 8]);
        assert_eq!(widths(rows(), 5), [3, 8, 8], "never narrower");
    }
}
