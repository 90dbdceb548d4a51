//! Python's tracebacks, of which the last exception is read.

/// A type's name is no longer than this.
const LONGEST_KIND: usize = 256;
const HEADING: &str = "Traceback (most recent call last):\n";
/// Of an exception group, whose lines stand behind [`GROUP_MARGIN`].
const GROUP_HEADING: &str = "  + Exception Group Traceback (most recent call last):\n";
const GROUP_MARGIN: &str = "  |";
/// Begins the list of what is in the group.
const GROUP_MEMBERS: &str = "  +-";
/// What stands between an exception and the one that it led to.
const LEADS_TO: [&str; 2] = [
    "\n\nDuring handling of the above exception, another exception occurred:\n\n",
    "\n\nThe above exception was the direct cause of the following exception:\n\n",
];

/// The last exception of a traceback.
pub(super) struct Traceback {
    pub(super) kind: String,
    pub(super) message: String,
}

impl Traceback {
    /// Nothing if `text` is no traceback.
    pub(super) fn read(text: &str) -> Option<Self> {
        heading(text)?;
        let last = last_exception(text);
        let lines = &last[heading(last)?..];
        let lines = lines.strip_suffix('\n').unwrap_or(lines);
        if last.starts_with(GROUP_HEADING) {
            summary(lines.split('\n').take_while(|line| !line.starts_with(GROUP_MEMBERS)).map(without_margin))
        } else {
            summary(lines.split('\n'))
        }
    }
}

/// The kind of an exception whose message is known and ends its traceback. This holds for a message that looks like a traceback itself, too.
pub(super) fn kind_before(trace: &str, message: &str) -> Option<String> {
    let before = trace.strip_suffix('\n').unwrap_or(trace).strip_suffix(message)?;
    let before = if message.is_empty() { before } else { before.strip_suffix(": ")? };
    let kind = before.rsplit('\n').next()?;
    is_kind(kind).then(|| kind.to_owned())
}

/// How long the heading of a traceback is.
fn heading(text: &str) -> Option<usize> {
    [HEADING, GROUP_HEADING].iter().find(|heading| text.starts_with(**heading)).map(|heading| heading.len())
}

fn last_exception(text: &str) -> &str {
    let begins = LEADS_TO.iter().flat_map(|words| text.match_indices(words).map(|(at, words)| at + words.len()));
    let last = begins.filter(|&begin| heading(&text[begin..]).is_some()).max();
    &text[last.unwrap_or(0)..]
}

fn without_margin(line: &str) -> &str {
    let Some(line) = line.strip_prefix(GROUP_MARGIN) else {
        return line;
    };
    line.strip_prefix(' ').unwrap_or(line)
}

/// The lines of the frames are indented, and the first that is not is `kind: message`, of which the message may go on to the end.
fn summary<'a>(lines: impl Iterator<Item = &'a str>) -> Option<Traceback> {
    let mut lines = lines.skip_while(|line| line.starts_with(' '));
    let first = lines.next()?;
    let (kind, first) = first.split_once(": ").unwrap_or((first, ""));
    let mut message = first.to_owned();
    for line in lines {
        message.push('\n');
        message.push_str(line);
    }
    is_kind(kind).then(|| Traceback { kind: kind.to_owned(), message })
}

/// Names with dots; a type from within a function has `<locals>` in its name.
fn is_kind(name: &str) -> bool {
    let part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_') || part == "<locals>";
    name.len() <= LONGEST_KIND && name.split('.').all(part)
}
