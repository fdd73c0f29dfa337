package standin;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** What the app wants of a JPEG's EXIF header (CIPA DC-008): IFD0, the Exif IFD and the GPS IFD. */
public final class Exif {
    public static final int TAKEN = 0x9003, OFFSET = 0x9011;
    private static final int ORIENTATION = 0x0112, EXIF = 0x8769, GPS = 0x8825;
    private final byte[] bytes;
    private int tiff = -1; // where the TIFF header begins
    private ByteBuffer data;

    public Exif(byte[] jpeg) {
        bytes = jpeg;
        for (int at = 2; at + 10 < jpeg.length && (jpeg[at] & 0xff) == 0xff; at += 2 + word(at + 2)) {
            boolean isApp1 = (jpeg[at + 1] & 0xff) == 0xe1 && new String(jpeg, at + 4, 4, StandardCharsets.ISO_8859_1).equals("Exif");
            if (!isApp1) continue;
            tiff = at + 10;
            data = ByteBuffer.wrap(jpeg, tiff, jpeg.length - tiff).slice().order(jpeg[tiff] == 'I' ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN);
            return;
        }
    }

    private int word(int at) {
        return (bytes[at] & 0xff) << 8 | bytes[at + 1] & 0xff;
    }

    /** Where an entry of 12 bytes is, or -1. */
    private int entry(int ifd, int tag) {
        if (tiff < 0 || ifd <= 0) return -1;
        for (int n = 0; n < data.getShort(ifd); n++) {
            int at = ifd + 2 + 12 * n;
            if ((data.getShort(at) & 0xffff) == tag) return at;
        }
        return -1;
    }

    private int first() {
        return tiff < 0 ? -1 : data.getInt(4);
    }

    private int inner(int tag) {
        int at = entry(first(), tag);
        return at < 0 ? -1 : data.getInt(at + 8);
    }

    public int orientation() {
        int at = entry(first(), ORIENTATION);
        return at < 0 ? 0 : data.getShort(at + 8);
    }

    /** A text of the Exif IFD, or null. */
    public String text(int tag) {
        int at = entry(inner(EXIF), tag);
        if (at < 0) return null;
        int count = data.getInt(at + 4);
        byte[] out = new byte[Math.max(0, count - 1)];
        data.get(count > 4 ? data.getInt(at + 8) : at + 8, out);
        return new String(out, StandardCharsets.ISO_8859_1);
    }

    /** Degrees north and east, or null. */
    public double[] place() {
        int gps = inner(GPS);
        int north = entry(gps, 2), east = entry(gps, 4);
        if (north < 0 || east < 0) return null;
        double lat = degrees(north), lon = degrees(east);
        return new double[] {data.get(entry(gps, 1) + 8) == 'S' ? -lat : lat, data.get(entry(gps, 3) + 8) == 'W' ? -lon : lon};
    }

    private double degrees(int entry) {
        int at = data.getInt(entry + 8);
        double out = 0;
        for (int n = 0; n < 3; n++) out += (double) data.getInt(at + 8 * n) / data.getInt(at + 8 * n + 4) / Math.pow(60, n);
        return out;
    }

    /** The same bytes without a position, as the system hands them to an app that may not see it. */
    public byte[] withoutPlace() {
        byte[] out = bytes.clone();
        int at = entry(first(), GPS);
        if (at >= 0) out[tiff + at] = out[tiff + at + 1] = 0;
        return out;
    }
}
