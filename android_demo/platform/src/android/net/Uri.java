package android.net;

public final class Uri {
    private final String text;

    private Uri(String text) {
        this.text = text;
    }

    public static Uri parse(String text) {
        return new Uri(text);
    }

    public static Uri fromParts(String scheme, String part, String fragment) {
        return new Uri(scheme + ":" + part + (fragment == null ? "" : "#" + fragment));
    }

    public String getScheme() {
        return text.substring(0, text.indexOf(':'));
    }

    public String getLastPathSegment() {
        String path = text.split("[?#]")[0];
        return path.substring(path.lastIndexOf('/') + 1);
    }

    public String getQueryParameter(String key) {
        for (String pair : text.contains("?") ? text.substring(text.indexOf('?') + 1).split("&") : new String[0])
            if (pair.startsWith(key + "=")) return pair.substring(key.length() + 1);
        return null;
    }

    public Builder buildUpon() {
        return new Builder(text);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Uri uri && uri.text.equals(text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    @Override
    public String toString() {
        return text;
    }

    public static final class Builder {
        private final String text;

        private Builder(String text) {
            this.text = text;
        }

        public Builder appendQueryParameter(String key, String value) {
            return new Builder(text + (text.contains("?") ? "&" : "?") + key + "=" + value);
        }

        public Uri build() {
            return new Uri(text);
        }
    }
}
