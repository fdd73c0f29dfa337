import java.util.Properties

plugins {
    id("com.android.application") version "8.12.0"
    id("org.jetbrains.kotlin.android") version "2.1.0"
}

val sdk = Properties().apply { file("../sdk.properties").inputStream().use(::load) }
val target = (findProperty("targetSdk") ?: sdk["targetSdk"]).toString().toInt()

android {
    namespace = "gamer.app"
    compileSdk = target
    defaultConfig {
        applicationId = "gamer.app"
        minSdk = sdk["minSdk"].toString().toInt()
        targetSdk = target
        versionCode = 1
        versionName = "0.1"
        ndk { abiFilters += listOf("arm64-v8a") }
    }
    // The core is compiled with the app; the rules of cues and the outlines of the land are those of Python and the web page.
    sourceSets["main"].apply {
        kotlin.srcDirs("src/main/kotlin", "../core/src")
        assets.srcDir(layout.buildDirectory.dir("rules"))
    }
    for (type in listOf("debug", "release")) sourceSets[type].res.srcDir("src/gradle/res")
    sourceSets["release"].manifest.srcFile("src/gradle/AndroidManifest.xml")
    // The debug build measures for `gamer bench device --device connected`. Its package is another one, so that a phone's own app,
    // model and album are not touched.
    buildTypes["debug"].applicationIdSuffix = ".debug"
    sourceSets["debug"].kotlin.srcDir("src/debug/kotlin")
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
    kotlinOptions { jvmTarget = "1.8" }
}

val rules = tasks.register<Copy>("rules") {
    from("../../runtime/cues/cue_rules.json", "../../runtime/serve/static/land.json")
    into(layout.buildDirectory.dir("rules"))
}
tasks.named("preBuild") { dependsOn(rules) }

// ExecuTorch as another runner: gradle -Pexecutorch=VERSION, the one that the bundle was exported with.
val executorch = findProperty("executorch")?.toString()
if (executorch != null) android.sourceSets["main"].kotlin.srcDir("src/executorch/kotlin")

dependencies {
    // Compiles the classes of baseline-prof.txt on phones where the app does not come from a store.
    implementation("androidx.profileinstaller:profileinstaller:1.4.1")
    implementation("com.microsoft.onnxruntime:onnxruntime-android:1.29.0")
    if (executorch != null) implementation("org.pytorch:executorch-android:$executorch")
}
