//! `Source`: the text of a query, parsed, and its definitions by name.

use std::collections::HashMap;

use apollo_parser::cst::{CstNode, Definition, FragmentDefinition, Name, OperationDefinition};
use apollo_parser::{Lexer, Parser, TokenKind};

use super::{MAX_QUERY, MAX_QUERY_DEPTH};
use crate::base::error::{Error, Result};

/// Every byte can be a token, so this rejects nothing within the length limit; it bounds the parser independently.
const MAX_TOKENS: usize = MAX_QUERY + 1;

pub(super) struct Source<'a> {
    text: &'a str,
    operations: Vec<OperationDefinition>,
    fragments: HashMap<String, FragmentDefinition>,
}

impl<'a> Source<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self> {
        if text.len() > MAX_QUERY {
            return Err(Error::invalid(
                "query",
                format!("must be at most {MAX_QUERY} bytes; split it: bytes={}", text.len()),
            ));
        }
        let mut source = Self { text, operations: Vec::new(), fragments: HashMap::new() };
        source.check_tokens()?;
        let tree = Parser::new(text).token_limit(MAX_TOKENS).recursion_limit(MAX_QUERY_DEPTH).parse();
        if let Some(error) = tree.errors().next() {
            return Err(source.syntax_fault(error));
        }
        for definition in tree.document().definitions() {
            source.take(definition)?;
        }
        Ok(source)
    }

    /// Returns the operation with that name, or the only one.
    pub(super) fn operation(&self, name: Option<&str>) -> Result<&OperationDefinition> {
        let Some(name) = name else {
            return match self.operations.as_slice() {
                [only] => Ok(only),
                [] => Err(Error::invalid("query", "contains no operation; add a query or a mutation")),
                many => Err(Error::invalid(
                    "query",
                    format!("contains several operations; name one with operation: operations={}", many.len()),
                )),
            };
        };
        let mut named = self.operations.iter().filter(|operation| text_of(operation.name()).as_deref() == Some(name));
        match (named.next(), named.next()) {
            (Some(only), None) => Ok(only),
            (Some(_), Some(second)) => Err(self.fault(offset(second), "two operations have this name; rename one")),
            (None, _) => {
                let shown: String = name.chars().take(40).collect();
                Err(Error::invalid(
                    "operation",
                    format!("the query contains no operation of this name: operation={shown:?}"),
                ))
            }
        }
    }

    pub(super) fn fragment(&self, name: &str) -> Option<&FragmentDefinition> {
        self.fragments.get(name)
    }

    /// Returns an error of the query at a byte offset.
    pub(super) fn fault(&self, index: usize, message: &str) -> Error {
        Error::invalid("query", format!("{message}: {}", self.place(index)))
    }

    /// Formats line and column of a byte offset, both from 1; columns count characters.
    pub(super) fn place(&self, index: usize) -> String {
        let (mut line, mut column) = (1_u32, 1_u32);
        for (_, character) in self.text.char_indices().take_while(|(at, _)| *at < index) {
            if character == '\n' {
                (line, column) = (line.saturating_add(1), 1);
            } else {
                column = column.saturating_add(1);
            }
        }
        format!("line={line} column={column}")
    }

    /// The parser recovers from bad tokens and from its own limits; this check rejects them before it starts.
    fn check_tokens(&self) -> Result<()> {
        let mut depth = 0_usize;
        for token in Lexer::new(self.text).with_limit(MAX_TOKENS) {
            let token = token.map_err(|error| self.syntax_fault(&error))?;
            match token.kind() {
                TokenKind::LCurly | TokenKind::LParen | TokenKind::LBracket => depth = depth.saturating_add(1),
                TokenKind::RCurly | TokenKind::RParen | TokenKind::RBracket => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > MAX_QUERY_DEPTH {
                let message = format!("must be at most {MAX_QUERY_DEPTH} brackets deep; split it");
                return Err(self.fault(token.index(), &message));
            }
        }
        Ok(())
    }

    fn take(&mut self, definition: Definition) -> Result<()> {
        match definition {
            Definition::OperationDefinition(operation) => self.operations.push(operation),
            Definition::FragmentDefinition(fragment) => {
                let index = offset(&fragment);
                let name = fragment.fragment_name().and_then(|name| text_of(name.name()));
                let name = name.ok_or_else(|| self.fault(index, "a fragment needs a name"))?;
                if self.fragments.insert(name, fragment).is_some() {
                    return Err(self.fault(index, "two fragments have this name; rename one"));
                }
            }
            other => {
                let message = "a type system has no cost; send operations and fragments only";
                return Err(self.fault(offset(&other), message));
            }
        }
        Ok(())
    }

    /// Omits the token that the parser found: it may be a confidential literal.
    fn syntax_fault(&self, error: &apollo_parser::Error) -> Error {
        let message = error.message().split(", got").next().unwrap_or_default();
        let message = message.split('"').next().unwrap_or_default().trim_end_matches([' ', '.', ':', '`', '\'']);
        let message = message.to_lowercase().replace("r_curly", "}").replace("r_paren", ")").replace("r_brack", "]");
        self.fault(error.index(), &format!("does not parse; {message}"))
    }
}

/// Returns the byte offset at which a node starts.
pub(super) fn offset(node: &impl CstNode) -> usize {
    node.syntax().text_range().start().into()
}

pub(super) fn text_of(name: Option<Name>) -> Option<String> {
    Some(name?.ident_token()?.text().to_owned())
}
