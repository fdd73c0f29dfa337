package standin;

import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import javax.imageio.ImageIO;
import javax.imageio.ImageReader;
import javax.imageio.metadata.IIOMetadataNode;

/** A video of this phone: an animated GIF, as Java decodes no other moving pictures. A comment in it is where it was taken. */
public final class Video {
    private record Frame(long begins, BufferedImage pixels) {}

    public final String place;
    private final List<Frame> frames = new ArrayList<>();
    private long length;

    public Video(InputStream gif) throws IOException {
        String comment = null;
        ImageReader reader = ImageIO.getImageReadersByFormatName("gif").next();
        reader.setInput(ImageIO.createImageInputStream(gif));
        int count = reader.getNumImages(true);
        for (int n = 0; n < count; n++) {
            BufferedImage whole = new BufferedImage(reader.getWidth(0), reader.getHeight(0), BufferedImage.TYPE_INT_ARGB);
            Graphics2D on = whole.createGraphics();
            if (n > 0) on.drawImage(frames.get(n - 1).pixels, 0, 0, null);
            IIOMetadataNode told = (IIOMetadataNode) reader.getImageMetadata(n).getAsTree("javax_imageio_gif_image_1.0");
            IIOMetadataNode where = node(told, "ImageDescriptor");
            on.drawImage(reader.read(n), number(where, "imageLeftPosition"), number(where, "imageTopPosition"), null);
            frames.add(new Frame(length, whole));
            length += 10L * number(node(told, "GraphicControlExtension"), "delayTime");
            if (node(told, "CommentExtension") != null) comment = node(told, "CommentExtension").getAttribute("value");
        }
        place = comment;
    }

    /** The same bytes without a position, as the system hands them to an app that may not see it. */
    public static byte[] withoutPlace(byte[] gif) {
        return new String(gif, StandardCharsets.ISO_8859_1).replaceAll("[+-][0-9]{2}\\.[0-9]{4}[+-][0-9]{3}\\.[0-9]{4}/", " ".repeat(18)).getBytes(StandardCharsets.ISO_8859_1);
    }

    private static IIOMetadataNode node(IIOMetadataNode of, String name) {
        return of.getElementsByTagName(name).getLength() == 0 ? null : (IIOMetadataNode) of.getElementsByTagName(name).item(0);
    }

    private static int number(IIOMetadataNode of, String name) {
        return Integer.parseInt(of.getAttribute(name));
    }

    public long length() {
        return length;
    }

    public int width() {
        return frames.get(0).pixels.getWidth();
    }

    public int height() {
        return frames.get(0).pixels.getHeight();
    }

    public BufferedImage at(long ms) {
        Frame found = frames.get(0);
        for (Frame frame : frames) if (frame.begins <= ms) found = frame;
        return found.pixels;
    }
}
