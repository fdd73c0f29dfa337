package standin;

import android.database.Cursor;
import android.database.MatrixCursor;
import android.graphics.Bitmap;
import android.net.Uri;
import android.os.Build;
import android.provider.MediaStore;
import android.provider.MediaStore.Images.Media;
import android.util.Size;
import java.awt.Rectangle;
import java.awt.geom.AffineTransform;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import javax.imageio.ImageIO;

/** The phone's photos, as its media provider lists and opens them, and documents that a person picked. */
public final class Gallery {
    /** @param taken ms UTC as the provider understands the picture; null: not known. */
    public record Item(long id, File file, Long taken, long modified, String volume) {}

    private final Map<Long, Item> items = new LinkedHashMap<>();
    private final Map<Uri, File> documents = new LinkedHashMap<>();
    private final Phone phone;
    private final Set<String> volumes = new TreeSet<>(Set.of("external_primary"));
    private final Set<Long> favourites = new TreeSet<>();
    private long next = 1;

    Gallery(Phone phone) {
        this.phone = phone;
    }

    public synchronized Uri add(File picture, Long taken) {
        return add(picture, taken, "external_primary");
    }

    public synchronized Uri add(File picture, Long taken, String volume) {
        Item item = new Item(next++, picture, taken, 1_700_000_000 + next, volume);
        volumes.add(volume);
        items.put(item.id, item);
        return told(item.id);
    }

    /** A picture is saved again in its place. */
    public synchronized void edit(long id, File picture) {
        items.computeIfPresent(id, (key, old) -> new Item(id, picture, old.taken, old.modified + 60, old.volume));
        told(id);
    }

    public synchronized void delete(long id) {
        items.remove(id);
        told(id);
    }

    /** The person's heart of a picture; the time of its file stays. */
    public synchronized void mark(long id, boolean isFavourite) {
        if (isFavourite) favourites.add(id);
        else favourites.remove(id);
        told(id);
    }

    public synchronized boolean isFavourite(long id) {
        return favourites.contains(id);
    }

    /** A card is taken out, or put in again. */
    public synchronized void eject(String volume) {
        volumes.remove(volume);
        told(0);
    }

    public synchronized void insert(String volume) {
        volumes.add(volume);
        told(0);
    }

    public synchronized Set<String> volumes() {
        return Set.copyOf(volumes);
    }

    private Uri told(long id) {
        Uri uri = Uri.parse((isVideo(items.get(id)) ? MediaStore.Video.Media.EXTERNAL_CONTENT_URI : Media.EXTERNAL_CONTENT_URI) + "/" + id);
        phone.scheduler.changed(uri.toString());
        return uri;
    }

    private static boolean isVideo(Item item) {
        return item != null && item.file.getName().endsWith(".mp4");
    }

    private static boolean isVideo(Uri uri) {
        return uri.toString().startsWith(MediaStore.Video.Media.EXTERNAL_CONTENT_URI.toString());
    }

    public synchronized Uri document(File file) {
        Uri uri = Uri.parse("content://documents/document/" + file.getName());
        documents.put(uri, file);
        return uri;
    }

    private boolean isReadable(boolean isVideo) {
        return Build.VERSION.SDK_INT >= 33
            ? phone.isGranted(isVideo ? "android.permission.READ_MEDIA_VIDEO" : "android.permission.READ_MEDIA_IMAGES") || phone.isGranted("android.permission.READ_MEDIA_VISUAL_USER_SELECTED")
            : phone.isGranted("android.permission.READ_EXTERNAL_STORAGE");
    }

    /** Below API 29 the provider refuses an app without the permission; later ones show it none of others' photos. */
    private void check() {
        if (Build.VERSION.SDK_INT < 29 && !isReadable(false)) throw new SecurityException("Permission Denial: reading MediaProvider requires android.permission.READ_EXTERNAL_STORAGE");
    }

    /** Null for what is no item's address. */
    public Long idOf(Uri uri) {
        String text = uri.toString();
        boolean isItem = text.startsWith(Media.EXTERNAL_CONTENT_URI + "/") || text.startsWith(MediaStore.Video.Media.EXTERNAL_CONTENT_URI + "/");
        return isItem ? Long.valueOf(uri.getLastPathSegment()) : null;
    }

    /** The pictures of which the provider was asked for a thumbnail. */
    public final List<String> thumbnails = java.util.Collections.synchronizedList(new ArrayList<>());

    public synchronized Bitmap thumbnail(Uri uri, Size size) throws IOException {
        Item item = items.get(idOf(uri));
        if (item == null || !isReadable(isVideo(item))) throw new FileNotFoundException(uri.toString());
        thumbnails.add(item.file.getName());
        BufferedImage whole = ImageIO.read(item.file); // of a GIF the first frame
        AffineTransform upright = AffineTransform.getRotateInstance(Math.toRadians(turn(item)));
        double side = Math.max(whole.getWidth(), whole.getHeight());
        upright.preConcatenate(AffineTransform.getScaleInstance(size.width() / side, size.height() / side));
        Rectangle box = upright.createTransformedShape(new Rectangle(whole.getWidth(), whole.getHeight())).getBounds();
        upright.preConcatenate(AffineTransform.getTranslateInstance(-box.x, -box.y));
        BufferedImage out = new BufferedImage(box.width, box.height, BufferedImage.TYPE_INT_ARGB);
        out.createGraphics().drawImage(whole, upright, null);
        return new Bitmap(out);
    }

    public synchronized Cursor query(Uri uri, String[] columns, String order) {
        check();
        List<Item> found = new ArrayList<>();
        Long id = idOf(uri);
        for (Item item : items.values()) if (isVideo(item) == isVideo(uri) && isReadable(isVideo(uri)) && volumes.contains(item.volume) && (id == null || item.id == id)) found.add(item);
        if (order != null) {
            if (!order.equals(Media.DATE_TAKEN + " DESC")) throw new UnsupportedOperationException(order);
            found.sort(Comparator.comparing((Item item) -> item.taken == null ? Long.MIN_VALUE : item.taken).reversed());
        }
        List<Object[]> rows = new ArrayList<>();
        for (Item item : found) {
            Object[] row = new Object[columns.length];
            for (int n = 0; n < columns.length; n++) row[n] = value(item, columns[n]);
            rows.add(row);
        }
        return new MatrixCursor(rows, columns.length);
    }

    private Object value(Item item, String column) {
        if (column.equals("is_favorite") && Build.VERSION.SDK_INT >= 30) return favourites.contains(item.id) ? 1L : 0L;
        return switch (column) {
            case Media._ID -> item.id;
            case Media.DATE_TAKEN -> item.taken;
            case Media.DATE_MODIFIED, Media.DATE_ADDED -> item.modified;
            case Media.DISPLAY_NAME -> item.file.getName();
            case Media.ORIENTATION -> {
                if (isVideo(item)) throw new android.database.sqlite.SQLiteException("no such column: " + column); // before Android 10
                yield turn(item);
            }
            default -> throw new android.database.sqlite.SQLiteException("no such column: " + column);
        };
    }

    private long turn(Item item) {
        try {
            return switch (new Exif(Files.readAllBytes(item.file.toPath())).orientation()) {
                case 6 -> 90;
                case 3 -> 180;
                case 8 -> 270;
                default -> 0;
            };
        } catch (IOException error) {
            return 0;
        }
    }

    public InputStream open(Uri uri) throws FileNotFoundException {
        Item item;
        synchronized (this) {
            if (documents.containsKey(uri)) return new java.io.FileInputStream(documents.get(uri));
            check();
            Long id = idOf(uri);
            item = id == null || !isReadable(isVideo(uri)) ? null : items.get(id);
        }
        if (item == null) throw new FileNotFoundException(uri + ": no item");
        boolean isPlaceHidden = Build.VERSION.SDK_INT >= 29 && uri.getQueryParameter("requireOriginal") == null;
        if (Build.VERSION.SDK_INT >= 29 && !isPlaceHidden && !phone.isGranted("android.permission.ACCESS_MEDIA_LOCATION"))
            throw new UnsupportedOperationException("Caller must hold ACCESS_MEDIA_LOCATION permission to access original");
        try {
            byte[] bytes = Files.readAllBytes(item.file.toPath());
            return new ByteArrayInputStream(!isPlaceHidden ? bytes : isVideo(item) ? Video.withoutPlace(bytes) : new Exif(bytes).withoutPlace());
        } catch (IOException error) {
            throw new FileNotFoundException(error.getMessage());
        }
    }
}
