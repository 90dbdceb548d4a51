//! By what the client is let in.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The token that the user gave, and the one that the server gave for coming back.
pub(crate) struct Tokens {
    given: Option<Box<str>>,
    coming_back: Mutex<ComingBack>,
}

#[derive(Default)]
struct ComingBack {
    token: Option<Box<str>>,
    /// The connection was closed, and not lost. Who comes back by this token is not checked against another client of the same id, so the user's goes first then.
    is_second: bool,
}

/// One token, and which of the two it is.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Token {
    Given(Option<Box<str>>),
    ComingBack(Box<str>),
}

impl Tokens {
    pub(crate) fn new(given: Option<Box<str>>) -> Self {
        Self { given, coming_back: Mutex::default() }
    }

    pub(crate) fn given(&self) -> Option<Box<str>> {
        self.given.clone()
    }

    /// By what the next try is made, and by what if that is refused.
    pub(super) fn in_order(&self) -> (Token, Option<Token>) {
        let coming_back = self.lock();
        let given = || Token::Given(self.given.clone());
        match &coming_back.token {
            None => (given(), None),
            // An anonymous user is another one every time.
            Some(token) if self.given.is_none() => (Token::ComingBack(token.clone()), None),
            Some(token) if coming_back.is_second => (given(), Some(Token::ComingBack(token.clone()))),
            Some(token) => (Token::ComingBack(token.clone()), Some(given())),
        }
    }

    /// The server gave a new one.
    pub(crate) fn refresh(&self, token: Box<str>) {
        self.lock().token = Some(token);
    }

    /// The server let the client in.
    pub(super) fn were_good(&self) {
        self.lock().is_second = false;
    }

    /// The connection was closed.
    pub(crate) fn put_last(&self) {
        self.lock().is_second = true;
    }

    /// The server will not accept this one any more.
    pub(super) fn forget(&self, token: &Token) {
        let mut coming_back = self.lock();
        if let Token::ComingBack(token) = token
            && coming_back.token.as_ref() == Some(token)
        {
            coming_back.token = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, ComingBack> {
        self.coming_back.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Without them.
impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tokens").field("given", &self.given.is_some()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(token: &str) -> Token {
        Token::Given(Some(token.into()))
    }

    fn coming_back(token: &str) -> Token {
        Token::ComingBack(token.into())
    }

    #[test]
    fn a_lost_connection_is_made_again_by_the_token_for_that_and_a_closed_one_by_the_users() {
        let tokens = Tokens::new(Some("user".into()));
        assert!(tokens.in_order() == (given("user"), None));
        tokens.refresh("back".into());
        assert!(tokens.in_order() == (coming_back("back"), Some(given("user"))));
        tokens.put_last();
        assert!(tokens.in_order() == (given("user"), Some(coming_back("back"))));
        tokens.were_good();
        assert!(tokens.in_order() == (coming_back("back"), Some(given("user"))));
    }

    #[test]
    fn a_token_that_is_not_accepted_any_more_is_forgotten_and_no_newer_one() {
        let tokens = Tokens::new(Some("user".into()));
        tokens.refresh("back".into());
        tokens.forget(&given("user"));
        tokens.forget(&coming_back("another"));
        assert!(tokens.in_order().0 == coming_back("back"));
        tokens.forget(&coming_back("back"));
        assert!(tokens.in_order() == (given("user"), None));
    }

    #[test]
    fn an_anonymous_user_comes_back_by_what_the_server_gave_alone() {
        let tokens = Tokens::new(None);
        tokens.refresh("back".into());
        tokens.put_last();
        assert!(tokens.in_order() == (coming_back("back"), None));
    }

    #[test]
    fn tokens_do_not_show_when_they_are_printed() {
        let tokens = Tokens::new(Some("secret".into()));
        tokens.refresh("secret".into());
        assert!(!format!("{tokens:?}").contains("secret"));
    }
}
