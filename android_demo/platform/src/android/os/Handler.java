package android.os;

import java.util.Iterator;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Messages to the main thread, which a test runs by {@link #runDue}. */
public class Handler {
    private record Message(Handler of, Runnable work, long due, long number) {}

    private static final PriorityBlockingQueue<Message> QUEUE = new PriorityBlockingQueue<>(
        64, (a, b) -> a.due != b.due ? Long.compare(a.due, b.due) : Long.compare(a.number, b.number));
    private static final AtomicLong NUMBER = new AtomicLong();

    public Handler(Looper looper) {
        java.util.Objects.requireNonNull(looper);
    }

    public final boolean post(Runnable work) {
        return postDelayed(work, 0);
    }

    public final boolean postDelayed(Runnable work, long milliseconds) {
        return QUEUE.add(new Message(this, work, SystemClock.elapsedRealtime() + milliseconds, NUMBER.incrementAndGet()));
    }

    public final void removeCallbacks(Runnable work) {
        for (Iterator<Message> at = QUEUE.iterator(); at.hasNext();) {
            Message message = at.next();
            if (message.of == this && message.work == work) at.remove();
        }
    }

    /** Runs one message that is due, or waits for one up to some milliseconds. Returns whether one ran. */
    public static boolean runDue(long milliseconds) {
        try {
            Message next = QUEUE.poll(milliseconds, TimeUnit.MILLISECONDS);
            if (next == null) return false;
            if (next.due > SystemClock.elapsedRealtime()) {
                QUEUE.add(next);
                Thread.sleep(Math.min(milliseconds, 5));
                return false;
            }
            next.work.run();
            return true;
        } catch (InterruptedException stopped) {
            throw new IllegalStateException(stopped);
        }
    }

    public static void clear() {
        QUEUE.clear();
    }
}
