//! A registry whose answers are scripted, the handles that it gives, and the books it keeps of both.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
};

use tower::{BoxError, service_fn};

use crate::{
    Generation, HandleCache, LookUp, Resolved,
    handle_cache::Shared,
    lease::Issuer,
    sync::{Mutex, lock},
};

/// How one resolve goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Course {
    /// It answers in its first poll.
    AtOnce,
    /// It is pending once, and is woken from within that very poll.
    WakesItself,
    /// It answers when the gate is open.
    Gated,
    /// It fails in its first poll.
    Fails,
    /// It fails when the gate is open.
    GatedFails,
    /// It panics when the gate is open.
    GatedPanics,
    /// It answers when the gate is open, and panics when it is dropped.
    GatedPanicsWhenDropped,
}

pub(super) struct Registry(Arc<Books>);

struct Books {
    script: Box<dyn Fn(usize) -> (&'static str, Course) + Send + Sync>,
    gate: Gate,
    resolves: AtomicUsize,
    /// Resolves whose future is gone.
    ended: AtomicUsize,
    /// Handles made, clones among them, and not yet dropped.
    handles: AtomicUsize,
    called_back: OnceLock<Weak<Shared<Handle>>>,
}

impl Registry {
    /// `script` says who is found by the resolve of this number, from 0, and how the resolve goes.
    pub(super) fn new(script: impl Fn(usize) -> (&'static str, Course) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Books {
            script: Box::new(script),
            gate: Gate::default(),
            resolves: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            handles: AtomicUsize::new(0),
            called_back: OnceLock::new(),
        }))
    }

    pub(super) fn cache(&self) -> HandleCache<Handle> {
        let books = Arc::clone(&self.0);
        HandleCache::new(service_fn(move |()| Resolving::start(&books)), ())
    }

    /// A cache that tells of evictions, whose resolver names `spare` instead of whom it is to avoid.
    pub(super) fn cache_with_spare(&self, spare: &'static str) -> HandleCache<Handle> {
        let books = Arc::clone(&self.0);
        let resolver = service_fn(move |look_up: LookUp<()>| {
            let mut resolving = Resolving::start(&books);
            if look_up.avoids(&resolving.identity.into()) {
                resolving.identity = spare;
            }
            resolving
        });
        HandleCache::telling_of_evictions(resolver, ()).build()
    }

    /// From now on, each handle that is dropped takes the lock of this cache.
    pub(super) fn handles_call_back(&self, cache: &HandleCache<Handle>) {
        assert!(self.0.called_back.set(Arc::downgrade(cache.shared())).is_ok(), "once a model");
    }

    pub(super) fn open_the_gate(&self) {
        self.0.gate.open();
    }

    /// Resolves begun until now.
    pub(super) fn resolves(&self) -> usize {
        self.0.resolves.load(Relaxed)
    }

    /// Resolves in progress.
    pub(super) fn in_progress(&self) -> usize {
        self.resolves() - self.0.ended.load(Relaxed)
    }

    /// Drops the cache, and checks that it left nothing behind: no resolve, no handle, no reference to itself.
    pub(super) fn close(self, cache: HandleCache<Handle>) {
        drop(cache);
        assert_eq!(self.in_progress(), 0, "each resolver's future is dropped, once");
        assert_eq!(self.0.handles.load(Relaxed), 0, "each handle is dropped, once");
        self.0.gate.forget();
        assert_eq!(Arc::strong_count(&self.0), 1, "the cache is gone, with all that it referred to");
    }
}

/// A handle that is counted, and that may take the cache's lock while it is dropped.
pub(super) struct Handle(Arc<Books>);

impl Handle {
    fn new(books: &Arc<Books>) -> Self {
        books.handles.fetch_add(1, Relaxed);
        Self(Arc::clone(books))
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.handles.fetch_sub(1, Relaxed);
        if let Some(cache) = self.0.called_back.get().and_then(Weak::upgrade) {
            let never_issued = (0..100).fold(Generation::FIRST, |generation, _| generation.next());
            assert!(!cache.evict(never_issued));
        }
    }
}

/// One resolve in progress.
struct Resolving {
    books: Arc<Books>,
    identity: &'static str,
    course: Course,
    polled: bool,
}

impl Resolving {
    fn start(books: &Arc<Books>) -> Self {
        let (identity, course) = (books.script)(books.resolves.fetch_add(1, Relaxed));
        Self { books: Arc::clone(books), identity, course, polled: false }
    }
}

impl Future for Resolving {
    type Output = Result<Resolved<Handle>, BoxError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let polled_before = std::mem::replace(&mut this.polled, true);
        match this.course {
            Course::WakesItself if !polled_before => {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Course::Gated | Course::GatedFails | Course::GatedPanics | Course::GatedPanicsWhenDropped
                if !this.books.gate.passes(context.waker()) =>
            {
                return Poll::Pending;
            }
            _ => {}
        }
        match this.course {
            Course::AtOnce | Course::WakesItself | Course::Gated | Course::GatedPanicsWhenDropped => {
                Poll::Ready(Ok(Resolved::new(this.identity, Handle::new(&this.books))))
            }
            Course::Fails | Course::GatedFails => Poll::Ready(Err("the registry is out".into())),
            Course::GatedPanics => panic_quietly(),
        }
    }
}

impl Drop for Resolving {
    fn drop(&mut self) {
        self.books.ended.fetch_add(1, Relaxed);
        if let Course::GatedPanicsWhenDropped = self.course {
            panic_quietly();
        }
    }
}

/// Panics without the hook, which would print a line in each of the orders.
fn panic_quietly() -> ! {
    std::panic::resume_unwind(Box::new("the resolver is broken"))
}

/// What another thread opens, and wakes the resolver by.
#[derive(Default)]
struct Gate(Mutex<Door>);

#[derive(Default)]
struct Door {
    open: bool,
    waker: Option<Waker>,
}

impl Gate {
    fn passes(&self, waker: &Waker) -> bool {
        let mut door = lock(&self.0);
        let replaced = if door.open { None } else { door.waker.replace(waker.clone()) };
        let open = door.open;
        drop(door);
        drop(replaced);
        open
    }

    fn open(&self) {
        let mut door = lock(&self.0);
        door.open = true;
        let waker = door.waker.take();
        drop(door);
        waker.into_iter().for_each(Waker::wake);
    }

    fn forget(&self) {
        let waker = lock(&self.0).waker.take();
        drop(waker);
    }
}
