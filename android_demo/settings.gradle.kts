// For people with an Android SDK: gradle :app:assembleDebug. Without one: build_apk.sh.
pluginManagement {
    repositories { google(); mavenCentral(); gradlePluginPortal() }
}
dependencyResolutionManagement {
    repositories { google(); mavenCentral() }
}
rootProject.name = "gamer-android"
include(":app")
