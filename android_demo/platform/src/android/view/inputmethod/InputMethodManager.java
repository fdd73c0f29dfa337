package android.view.inputmethod;

import standin.Phone;

public final class InputMethodManager {
    public boolean hideSoftInputFromWindow(Object token, int flags) {
        if (token != null) Phone.get().isKeyboardShown = false;
        return token != null;
    }
}
