package android.util;

public record Size(int width, int height) {}
