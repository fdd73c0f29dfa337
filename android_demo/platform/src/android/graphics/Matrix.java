package android.graphics;

import java.awt.geom.AffineTransform;

public class Matrix {
    public final AffineTransform values = new AffineTransform();

    public void setScale(float x, float y) {
        values.setToScale(x, y);
    }

    public boolean postTranslate(float x, float y) {
        values.preConcatenate(AffineTransform.getTranslateInstance(x, y));
        return true;
    }

    public boolean postRotate(float degrees) {
        values.preConcatenate(AffineTransform.getRotateInstance(Math.toRadians(degrees)));
        return true;
    }
}
