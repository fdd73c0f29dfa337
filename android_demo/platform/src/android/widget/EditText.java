package android.widget;

import android.content.Context;
import android.text.Editable;

public class EditText extends TextView {
    public EditText(Context context) {
        super(context);
    }

    @Override
    public Editable getText() {
        CharSequence text = super.getText();
        return new Editable() {
            @Override
            public int length() {
                return text.length();
            }

            @Override
            public char charAt(int at) {
                return text.charAt(at);
            }

            @Override
            public CharSequence subSequence(int begin, int end) {
                return text.subSequence(begin, end);
            }

            @Override
            public String toString() {
                return text.toString();
            }
        };
    }
}
