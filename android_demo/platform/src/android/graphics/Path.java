package android.graphics;

import java.awt.geom.GeneralPath;

public class Path {
    final GeneralPath lines = new GeneralPath();

    public void moveTo(float x, float y) {
        lines.moveTo(x, y);
    }

    public void lineTo(float x, float y) {
        lines.lineTo(x, y);
    }

    public void close() {
        lines.closePath();
    }
}
