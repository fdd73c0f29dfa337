package android.graphics;

import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.geom.AffineTransform;
import java.awt.geom.Ellipse2D;
import java.awt.geom.Rectangle2D;
import java.awt.image.BufferedImage;
import java.util.ArrayDeque;
import java.util.Deque;

public class Canvas {
    private record State(AffineTransform turned, java.awt.Shape clip) {}

    private final Graphics2D on;
    private final Deque<State> kept = new ArrayDeque<>();

    public Canvas(BufferedImage image) {
        on = image.createGraphics();
    }

    public Canvas(Bitmap bitmap) {
        this(bitmap.pixels);
    }

    public int save() {
        kept.push(new State(on.getTransform(), on.getClip()));
        return kept.size();
    }

    public void restore() {
        State last = kept.pop();
        on.setTransform(last.turned);
        on.setClip(null);
        if (last.clip != null) on.setClip(last.clip);
    }

    public void translate(float x, float y) {
        on.translate(x, y);
    }

    public void scale(float x, float y) {
        on.scale(x, y);
    }

    public boolean clipRect(float left, float top, float right, float bottom) {
        on.clip(new Rectangle2D.Float(left, top, right - left, bottom - top));
        return true;
    }

    public void drawColor(int color) {
        on.setColor(new Color(color, true));
        on.fillRect(0, 0, 1 << 14, 1 << 14);
    }

    public void drawPath(Path path, Paint paint) {
        on.setColor(new Color(paint.getColor(), true));
        on.fill(path.lines);
    }

    public void drawCircle(float x, float y, float radius, Paint paint) {
        on.setColor(new Color(paint.getColor(), true));
        on.fill(new Ellipse2D.Float(x - radius, y - radius, 2 * radius, 2 * radius));
    }

    public void drawBitmap(Bitmap bitmap, Matrix by) {
        on.drawImage(bitmap.pixels, by.values, null);
    }
}
