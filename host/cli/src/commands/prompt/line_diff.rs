//! Two texts, line by line.

/// Fields of the largest table that is filled: texts that differ in more lines than its root are
/// shown whole, one after the other.
const LARGEST_TABLE: usize = 4_000_000;

/// A line of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// In both.
    Same(&'a str),
    /// Only in the first.
    Removed(&'a str),
    /// Only in the second.
    Added(&'a str),
}

/// The shortest edit from `before` to `after`: a longest common subsequence of lines. Common
/// ends are set aside first, so that the table stays small.
pub(super) fn compare<'a>(before: &'a str, after: &'a str) -> Vec<Line<'a>> {
    let before: Vec<&str> = before.lines().collect();
    let after: Vec<&str> = after.lines().collect();
    let head = common(before.iter(), after.iter());
    let tail = common(before[head..].iter().rev(), after[head..].iter().rev());
    let removed = &before[head..before.len() - tail];
    let added = &after[head..after.len() - tail];
    let same = |line: &&'a str| Line::Same(line);
    let mut lines: Vec<Line<'a>> = before[..head].iter().map(same).collect();
    middle(removed, added, &mut lines);
    lines.extend(before[before.len() - tail..].iter().map(same));
    lines
}

fn common<'l, 'a: 'l>(
    one: impl Iterator<Item = &'l &'a str>,
    other: impl Iterator<Item = &'l &'a str>,
) -> usize {
    one.zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

fn middle<'a>(before: &[&'a str], after: &[&'a str], lines: &mut Vec<Line<'a>>) {
    if before.len().saturating_mul(after.len()) > LARGEST_TABLE {
        lines.extend(before.iter().map(|line| Line::Removed(line)));
        lines.extend(after.iter().map(|line| Line::Added(line)));
        return;
    }
    // longest[i][j]: lines that before[i..] and after[j..] have in common.
    let mut longest = vec![vec![0_usize; after.len() + 1]; before.len() + 1];
    for i in (0..before.len()).rev() {
        for j in (0..after.len()).rev() {
            longest[i][j] = if before[i] == after[j] {
                longest[i + 1][j + 1] + 1
            } else {
                longest[i + 1][j].max(longest[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < before.len() || j < after.len() {
        if i < before.len() && j < after.len() && before[i] == after[j] {
            lines.push(Line::Same(before[i]));
            i += 1;
            j += 1;
        } else if j == after.len() || (i < before.len() && longest[i + 1][j] >= longest[i][j + 1]) {
            lines.push(Line::Removed(before[i]));
            i += 1;
        } else {
            lines.push(Line::Added(after[j]));
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, compare};

    fn written(before: &str, after: &str) -> String {
        compare(before, after)
            .iter()
            .map(|line| match line {
                Line::Same(line) => format!(" {line}|"),
                Line::Removed(line) => format!("-{line}|"),
                Line::Added(line) => format!("+{line}|"),
            })
            .collect()
    }

    #[test]
    fn the_shortest_edit_is_found() {
        assert_eq!(written("", ""), "");
        assert_eq!(written("a\nb", "a\nb"), " a| b|");
        assert_eq!(written("", "a"), "+a|");
        assert_eq!(written("a", ""), "-a|");
        assert_eq!(written("a\nb\nc\nd", "a\nx\nc\nd"), " a|-b|+x| c| d|");
        assert_eq!(written("a\nb\nc", "c\na\nb"), "+c| a| b|-c|");
    }
}
