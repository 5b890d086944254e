//! Managed blocks: what stands between `%% ebbmark:NAME %%` and `%% /ebbmark:NAME %%` is ours, all around it is not.

use super::{Note, body};
use crate::error::{Error, Result};

impl Note {
    /// The lines of the managed block `name`, where there is one.
    pub fn managed_block(&self, name: &str) -> Option<Vec<String>> {
        let begin = format!("%% ebbmark:{name} %%");
        let blocks = body::parts(self.body()).blocks;
        let block = blocks.iter().find(|block| block.lines().next().is_some_and(|line| line.trim_end() == begin))?;
        let lines: Vec<String> = block.lines().skip(1).map(str::to_owned).collect();
        Some(lines.into_iter().rev().skip(1).rev().collect())
    }

    /// The note with the managed block `name` holding `content`, or without that block. Every other byte is as before.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the note has problems: then it is not written.
    pub fn with_block(&self, name: &str, content: Option<&str>) -> Result<String> {
        if let Some(problem) = self.problems.first() {
            return Err(Error::invalid("note", problem.to_string(), "repair it in Obsidian first"));
        }
        let mut body = body::with_block(self.body(), name, content);
        let head = self.original.get(..self.body.start).unwrap_or_default();
        if self.block.is_some() && !head.ends_with('\n') && !body.is_empty() {
            body.insert(0, '\n');
        }
        Ok(format!("{head}{body}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOSTILE: &[&str] = &[
        "%% ebbmark:related %%",
        "\n%% /ebbmark:related %%\n",
        "%% ebbmark:other %%\n",
        "\n---\n",
        "---",
        "```",
        "\n```\n",
        "[[x]]",
        "%%",
        "\n",
        " ",
        "text",
        "\\",
    ];

    #[test]
    fn a_managed_block_comes_changes_and_goes_and_nothing_else_does() {
        for (text, with, again) in [
            ("a\n", "a\n\n%% ebbmark:related %%\nx\n%% /ebbmark:related %%\n", "a\n"),
            ("a", "a\n\n%% ebbmark:related %%\nx\n%% /ebbmark:related %%\n", "a\n"),
            ("", "%% ebbmark:related %%\nx\n%% /ebbmark:related %%\n", ""),
            (
                "---\nk: 1\n---",
                "---\nk: 1\n---\n%% ebbmark:related %%\nx\n%% /ebbmark:related %%\n",
                "---\nk: 1\n---\n",
            ),
            ("a\r\nb\r\n", "a\r\nb\r\n\r\n%% ebbmark:related %%\r\nx\r\n%% /ebbmark:related %%\r\n", "a\r\nb\r\n"),
            (
                "a\n\n%% ebbmark:related %%\nold\n%% /ebbmark:related %%\nb\n%% ebbmark:about %%\n%% /ebbmark:about %%",
                "a\n\n%% ebbmark:related %%\nx\n%% /ebbmark:related %%\nb\n%% ebbmark:about %%\n%% /ebbmark:about %%",
                "a\n\nb\n%% ebbmark:about %%\n%% /ebbmark:about %%",
            ),
        ] {
            let note = Note::parse(text);
            let written = note.with_block("related", Some("x")).unwrap();
            assert_eq!(written, with, "{text:?}");
            let read = Note::parse(&written);
            assert_eq!(read.managed_block("related"), Some(vec!["x".to_owned()]));
            assert_eq!((read.text(), read.with_block("related", Some("x")).unwrap()), (note.text(), written));
            assert_eq!(read.with_block("related", None).unwrap(), again, "{text:?}");
        }
        assert_eq!(Note::parse("a").with_block("related", None).unwrap(), "a");
        assert!(Note::parse("---\n: [\n---\nx").with_block("related", Some("x")).is_err());
    }

    /// Found by the property below: the blank line before a block is a person's where text follows.
    #[test]
    fn a_block_that_goes_leaves_the_blank_lines_between_a_persons_lines() {
        let note = Note::parse("\n---\n\n\n%% ebbmark:related %%\n%% /ebbmark:related %%\n\n---\n");
        let cleared = note.with_block("related", None).unwrap();
        assert_eq!(cleared, "\n---\n\n\n\n---\n");
        assert_eq!(Note::parse(&cleared).text(), note.text());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_managed_block_changes_no_text(
            parts in prop::collection::vec(prop::sample::select(HOSTILE), 0..12), returns in any::<bool>(),
        ) {
            let text = parts.concat();
            let text = if returns { text.replace('\n', "\r\n") } else { text };
            let note = Note::parse(&text);
            let Ok(written) = note.with_block("related", Some("## Related\n- x")) else { return Ok(()) };
            let read = Note::parse(&written);
            prop_assert_eq!(&read.problems, &[]);
            prop_assert_eq!(read.text(), note.text());
            prop_assert_eq!(read.with_block("related", Some("## Related\n- x")).unwrap(), written.clone());
            let cleared = Note::parse(&read.with_block("related", None).unwrap());
            prop_assert_eq!(cleared.text(), note.text());
        }
    }
}
