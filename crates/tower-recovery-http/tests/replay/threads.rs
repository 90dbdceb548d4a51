//! Two copies polled on two threads: one is taken over wherever it happens to be.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    thread,
};

use bytes::Bytes;
use futures_util::{
    FutureExt,
    future::{Either, select},
};
use http_body::Frame;
use http_body_util::BodyExt;
use tokio::sync::mpsc;
use tower_recovery_http::{RepeatableBody, ReplayError, ReplayableBody};

use crate::{
    LIMIT, bounded,
    source::{Item, Script, Source},
};

const ROUNDS: usize = 300;
const FRAMES: usize = 50;

/// Frames that another thread sends, one by one; panics if it is polled by two threads at once.
struct Sent {
    frames: mpsc::UnboundedReceiver<Bytes>,
    polled: Arc<AtomicBool>,
}

impl Script for Sent {
    fn next(&mut self, waker: &Waker) -> Poll<Item> {
        assert!(!self.polled.swap(true, Ordering::SeqCst), "polled by two at once");
        let polled = self.frames.poll_recv(&mut Context::from_waker(waker));
        self.polled.store(false, Ordering::SeqCst);
        polled.map(|data| data.map(|data| Ok(Frame::data(data))))
    }
}

fn frame(number: usize) -> Bytes {
    Bytes::from(vec![number as u8; 1 + number % 7])
}

fn whole() -> Vec<u8> {
    (0..FRAMES).flat_map(frame).collect()
}

fn on_a_thread<Output: Send + 'static>(
    run: impl Future<Output = Output> + Send + 'static,
) -> thread::JoinHandle<Output> {
    thread::spawn(|| {
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(bounded(run))
    })
}

#[test]
fn the_newer_copy_gets_the_whole_wherever_the_older_one_is() {
    let taken_over = Arc::new(AtomicUsize::new(0));
    for round in 0..ROUNDS {
        let (sender, frames) = mpsc::unbounded_channel();
        let source = Sent { frames, polled: Arc::default() };
        let mut first = ReplayableBody::new(Source::new(source), 1 << 20);
        let mut second = first.try_copy().unwrap();
        let third = second.try_copy().unwrap();
        let start = Arc::new(Barrier::new(2));

        let older = on_a_thread({
            let (start, taken_over) = (Arc::clone(&start), Arc::clone(&taken_over));
            async move {
                start.wait();
                let mut had = Vec::new();
                while let Some(frame) = first.frame().await {
                    match frame {
                        Ok(frame) => had.extend_from_slice(frame.data_ref().unwrap()),
                        Err(error) => {
                            assert_eq!(error.downcast_ref(), Some(&ReplayError::TakenOver));
                            taken_over.fetch_add(1, Ordering::Relaxed);
                            assert!(whole().starts_with(&had));
                            return;
                        }
                    }
                }
                assert_eq!(had, whole());
            }
        });
        let (begun, has_begun) = std::sync::mpsc::channel();
        let newer = on_a_thread({
            async move {
                start.wait();
                // Sometimes the takeover comes late, in the middle of the other's sending.
                for _ in 0..(round % 5) * 20 {
                    tokio::task::yield_now().await;
                }
                let mut had = second.frame().await.unwrap().unwrap().into_data().unwrap().to_vec();
                begun.send(()).unwrap();
                had.extend(second.collect().await.unwrap().to_bytes());
                had
            }
        });
        for number in 0..FRAMES {
            // In every other round there is something left to be taken over.
            if number == FRAMES / 2 && round % 2 == 0 {
                has_begun.recv_timeout(LIMIT).unwrap();
            }
            sender.send(frame(number)).unwrap();
        }
        drop(sender);
        assert_eq!(newer.join().unwrap(), whole());
        older.join().unwrap();
        assert!(third.is_repeatable());
        assert_eq!(third.collect().now_or_never().unwrap().unwrap().to_bytes(), whole());
    }
    assert!(taken_over.load(Ordering::Relaxed) >= ROUNDS / 2);
}

/// A source that waits for another thread while it is polled, and says when it is.
struct Held {
    entered: std::sync::mpsc::Sender<()>,
    leave: std::sync::mpsc::Receiver<bool>,
}

impl Script for Held {
    fn next(&mut self, _: &Waker) -> Poll<Item> {
        self.entered.send(()).expect("the test listens");
        assert!(self.leave.recv_timeout(LIMIT).expect("the test answers"), "a bug in the source");
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"a part")))))
    }
}

#[tokio::test]
async fn who_takes_over_in_the_middle_of_a_poll_is_woken_when_it_ends_and_when_it_panics() {
    for ends_well in [true, false] {
        let (entered, is_entered) = std::sync::mpsc::channel();
        let (leave, may_leave) = std::sync::mpsc::channel();
        let mut first = ReplayableBody::new(Source::new(Held { entered, leave: may_leave }), 1);
        let mut second = first.try_copy().unwrap();
        let older = on_a_thread(async move { first.frame().await.unwrap().unwrap_err() });
        is_entered.recv_timeout(LIMIT).unwrap();

        // Neither lock nor source is to be had, so the copy waits, and its other questions are answered.
        let waiting = Box::pin(second.frame());
        let Either::Right(((), waiting)) = select(waiting, std::future::ready(())).await else {
            panic!("there is nothing yet")
        };
        leave.send(ends_well).unwrap();
        let outcome = bounded(waiting).await.expect("not the end");
        if ends_well {
            assert_eq!(outcome.unwrap().into_data().unwrap(), "a part");
            assert_eq!(older.join().unwrap().downcast_ref(), Some(&ReplayError::TakenOver));
        } else {
            assert_eq!(outcome.unwrap_err().downcast_ref(), Some(&ReplayError::SourcePanicked));
            older.join().expect_err("the panic goes on in its own thread");
        }
    }
}

#[tokio::test]
async fn a_task_that_was_taken_over_is_woken_to_hear_of_it() {
    let (_sender, frames) = mpsc::unbounded_channel();
    let source = Sent { frames, polled: Arc::default() };
    let mut first = ReplayableBody::new(Source::new(source), 100);
    let mut second = first.try_copy().unwrap();
    let mut older = tokio_test::task::spawn(first.frame());
    assert!(older.poll().is_pending());
    let mut newer = tokio_test::task::spawn(second.frame());
    assert!(newer.poll().is_pending());
    assert!(older.is_woken());
    assert!(matches!(older.poll(), Poll::Ready(Some(Err(_)))));
    assert!(!newer.is_woken());
}
