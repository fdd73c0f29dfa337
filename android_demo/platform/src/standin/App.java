package standin;

import java.io.File;
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/** What an installed package says of itself: its manifest, its words in several languages, its assets. */
public final class App {
    public final String name;
    public final File assets;
    private final File resources;
    private final Document manifest, debug; // what a debug build has besides
    private final Map<Integer, String> names = new HashMap<>();
    private final Map<String, Map<String, String>> words = new HashMap<>(); // by language, then by name

    /** @param folder app/src/main; the class R must fit it. */
    public App(File folder, File assets) throws Exception {
        this.assets = assets;
        this.resources = new File(folder, "res");
        manifest = read(new File(folder, "AndroidManifest.xml"));
        debug = read(new File(folder, "../debug/AndroidManifest.xml"));
        name = manifest.getDocumentElement().getAttribute("package");
        for (Field field : Class.forName(name + ".R$string").getFields()) names.put(field.getInt(null), field.getName());
    }

    private static Document read(File file) throws Exception {
        return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(file);
    }

    public String string(int id, String language) {
        String key = names.get(id);
        if (key == null) throw new IllegalArgumentException("NotFoundException: String resource ID #0x" + Integer.toHexString(id));
        String own = words(language).get(key);
        return own != null ? own : words("en").get(key);
    }

    private synchronized Map<String, String> words(String language) {
        return words.computeIfAbsent(language, it -> {
            Map<String, String> out = new HashMap<>();
            try {
                NodeList found = read(new File(resources, (it.equals("en") ? "values" : "values-" + it) + "/strings.xml")).getElementsByTagName("string");
                for (int n = 0; n < found.getLength(); n++) {
                    Element one = (Element) found.item(n);
                    out.put(one.getAttribute("name"), one.getTextContent().replace("\\'", "'").replace("\\\"", "\"").replace("\\n", "\n"));
                }
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
            return out;
        });
    }

    private Set<String> named(String tag) {
        Set<String> out = new HashSet<>();
        for (Document from : new Document[] {manifest, debug}) {
            NodeList found = from.getElementsByTagName(tag);
            for (int n = 0; n < found.getLength(); n++) out.add(((Element) found.item(n)).getAttribute("android:name"));
        }
        return out;
    }

    /** Whether the manifest asks for a permission, on this version of the system. */
    public boolean declares(String permission) {
        NodeList found = manifest.getElementsByTagName("uses-permission");
        for (int n = 0; n < found.getLength(); n++) {
            Element one = (Element) found.item(n);
            String last = one.getAttribute("android:maxSdkVersion");
            if (one.getAttribute("android:name").equals(permission) && (last.isEmpty() || android.os.Build.VERSION.SDK_INT <= Integer.parseInt(last))) return true;
        }
        return false;
    }

    public boolean isScreen(Class<?> screen) {
        return named("activity").contains("." + screen.getSimpleName());
    }

    /** Whether a screen is told of such a change of the phone, and not made anew. */
    public boolean minds(Class<?> screen, String change) {
        NodeList found = manifest.getElementsByTagName("activity");
        for (int n = 0; n < found.getLength(); n++) {
            Element one = (Element) found.item(n);
            if (one.getAttribute("android:name").equals("." + screen.getSimpleName())) return java.util.List.of(one.getAttribute("android:configChanges").split("\\|")).contains(change);
        }
        return false;
    }

    public boolean isService(Class<?> service, String permission) {
        NodeList found = manifest.getElementsByTagName("service");
        for (int n = 0; n < found.getLength(); n++) {
            Element one = (Element) found.item(n);
            if (one.getAttribute("android:name").equals("." + service.getSimpleName()) && one.getAttribute("android:permission").equals(permission)) return true;
        }
        return false;
    }
}
