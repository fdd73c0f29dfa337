package android.content.res;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;

public final class AssetManager {
    public InputStream open(String name) throws IOException {
        return new FileInputStream(new java.io.File(standin.Phone.get().app.assets, name));
    }
}
