package android.text.format;

public class DateFormat {
    public static String getBestDateTimePattern(java.util.Locale locale, String skeleton) {
        if (!skeleton.equals("yMMMM")) throw new UnsupportedOperationException(skeleton);
        return locale.getLanguage().equals("es") ? "MMMM 'de' y" : "MMMM y";
    }
}
