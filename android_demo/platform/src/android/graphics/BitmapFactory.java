package android.graphics;

import java.awt.image.BufferedImage;
import java.io.IOException;
import java.io.InputStream;
import java.util.Iterator;
import javax.imageio.ImageIO;
import javax.imageio.ImageReadParam;
import javax.imageio.ImageReader;
import javax.imageio.stream.ImageInputStream;

public class BitmapFactory {
    public static class Options {
        public boolean inJustDecodeBounds;
        public int inSampleSize = 1, outWidth = -1, outHeight = -1;
    }

    /** Null for what is no picture. The picture's EXIF orientation is not applied. */
    public static Bitmap decodeStream(InputStream input, Object padding, Options options) {
        try (ImageInputStream found = ImageIO.createImageInputStream(input)) {
            Iterator<ImageReader> readers = ImageIO.getImageReaders(found);
            if (!readers.hasNext()) return null;
            ImageReader reader = readers.next();
            reader.setInput(found);
            options.outWidth = reader.getWidth(0);
            options.outHeight = reader.getHeight(0);
            if (options.inJustDecodeBounds) return null;
            ImageReadParam how = reader.getDefaultReadParam();
            how.setSourceSubsampling(Math.max(1, options.inSampleSize), Math.max(1, options.inSampleSize), 0, 0);
            BufferedImage read = reader.read(0, how);
            BufferedImage out = new BufferedImage(read.getWidth(), read.getHeight(), BufferedImage.TYPE_INT_ARGB);
            out.createGraphics().drawImage(read, 0, 0, null);
            return new Bitmap(out);
        } catch (IOException damaged) {
            return null;
        }
    }
}
