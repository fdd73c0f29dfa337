package android.graphics;

import java.awt.Graphics2D;
import java.awt.Rectangle;
import java.awt.RenderingHints;
import java.awt.geom.AffineTransform;
import java.awt.image.BufferedImage;

public final class Bitmap {
    public enum Config { ARGB_8888 }

    public final BufferedImage pixels;

    public Bitmap(BufferedImage pixels) {
        this.pixels = pixels;
    }

    public int getWidth() {
        return pixels.getWidth();
    }

    public int getHeight() {
        return pixels.getHeight();
    }

    public int getByteCount() {
        return 4 * getWidth() * getHeight();
    }

    public void getPixels(int[] into, int offset, int stride, int x, int y, int width, int height) {
        pixels.getRGB(x, y, width, height, into, offset, stride);
    }

    public Bitmap copy(Config config, boolean isMutable) {
        BufferedImage out = new BufferedImage(getWidth(), getHeight(), BufferedImage.TYPE_INT_ARGB);
        out.createGraphics().drawImage(pixels, 0, 0, null);
        return new Bitmap(out);
    }

    public static Bitmap createScaledBitmap(Bitmap from, int width, int height, boolean filter) {
        BufferedImage out = new BufferedImage(width, height, BufferedImage.TYPE_INT_ARGB);
        Graphics2D on = out.createGraphics();
        if (filter) on.setRenderingHint(RenderingHints.KEY_INTERPOLATION, RenderingHints.VALUE_INTERPOLATION_BILINEAR);
        on.drawImage(from.pixels, 0, 0, width, height, null);
        on.dispose();
        return new Bitmap(out);
    }

    public static Bitmap createBitmap(Bitmap from, int x, int y, int width, int height, Matrix by, boolean filter) {
        Rectangle box = by.values.createTransformedShape(new Rectangle(width, height)).getBounds();
        BufferedImage out = new BufferedImage(box.width, box.height, BufferedImage.TYPE_INT_ARGB);
        Graphics2D on = out.createGraphics();
        on.setRenderingHint(RenderingHints.KEY_INTERPOLATION, filter ? RenderingHints.VALUE_INTERPOLATION_BILINEAR : RenderingHints.VALUE_INTERPOLATION_NEAREST_NEIGHBOR);
        AffineTransform moved = AffineTransform.getTranslateInstance(-box.x, -box.y);
        moved.concatenate(by.values);
        on.drawImage(from.pixels.getSubimage(x, y, width, height), moved, null);
        on.dispose();
        return new Bitmap(out);
    }
}
