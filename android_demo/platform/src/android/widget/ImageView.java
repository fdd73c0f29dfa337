package android.widget;

import android.content.Context;
import android.graphics.Bitmap;
import android.graphics.Canvas;
import android.graphics.Matrix;
import android.graphics.drawable.BitmapDrawable;
import android.graphics.drawable.Drawable;
import android.view.View;

public class ImageView extends View {
    public enum ScaleType { MATRIX, CENTER_CROP }

    private Drawable shown;
    private ScaleType scaleType = ScaleType.CENTER_CROP;
    private Matrix matrix = new Matrix();

    public ImageView(Context context) {
        super(context);
    }

    public Drawable getDrawable() {
        return shown;
    }

    /** Without a bitmap there is a drawable, too, without a size. */
    public void setImageBitmap(Bitmap bitmap) {
        setImageDrawable(new BitmapDrawable(bitmap));
    }

    public void setImageDrawable(Drawable drawable) {
        change();
        shown = drawable;
    }

    public ScaleType getScaleType() {
        return scaleType;
    }

    public void setScaleType(ScaleType scaleType) {
        this.scaleType = scaleType;
    }

    public Matrix getImageMatrix() {
        return matrix;
    }

    public void setImageMatrix(Matrix matrix) {
        change();
        this.matrix = matrix;
    }

    @Override
    protected void onDraw(Canvas canvas) {
        if (shown instanceof BitmapDrawable drawn && drawn.getBitmap() != null && scaleType == ScaleType.MATRIX) canvas.drawBitmap(drawn.getBitmap(), matrix);
    }
}
