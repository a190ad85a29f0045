"""The commands that the browser process answers on the session of a crashed page.

Written by tools/measure_crash.py, from Chromium 156 (fact 74); every other command needs the renderer.
"""

from __future__ import annotations

from typing import Final

_ANSWERED: Final = {
    "Ads": "getAdMetrics",
    "Autofill": "disable enable setAddresses trigger",
    "BackgroundService": "clearEvents setRecording startObserving stopObserving",
    "Browser": (
        "addMockCamera addPrivacySandboxEnrollmentOverride cancelDownload executeBrowserCommand "
        "getBrowserCommandLine getGlobalPrivacyControl getHistogram getHistograms getVersion getWindowBounds "
        "getWindowForTarget grantPermissions resetPermissions setContentsSize setDockTile setDownloadBehavior "
        "setGlobalPrivacyControl setPermission setWindowBounds"
    ),
    "Cast": "disable enable setSinkToUse startDesktopMirroring startTabMirroring stopCasting",
    "DeviceAccess": "cancelPrompt disable enable selectPrompt",
    "DigitalCredentials": "setVirtualWalletBehavior",
    "Emulation": (
        "addScreen canEmulate clearDeviceMetricsOverride clearDevicePostureOverride clearDisplayFeaturesOverride "
        "clearGeolocationOverride clearIdleOverride getOverriddenSensorInformation getScreenInfos removeScreen "
        "setDeviceMetricsOverride setDevicePostureOverride setDisplayFeaturesOverride setEmitTouchEventsForMouse "
        "setGeolocationOverride setIdleOverride setPressureSourceOverrideEnabled setPressureStateOverride "
        "setPrimaryScreen setSensorOverrideEnabled setSensorOverrideReadings setVisibleSize updateScreen"
    ),
    "Extensions": (
        "clearStorageItems getExtensions getStorageItems loadUnpacked removeStorageItems setStorageItems "
        "triggerAction uninstall"
    ),
    "FedCm": "clickDialogButton disable dismissDialog enable openUrl resetCooldown selectAccount",
    "Fetch": (
        "continueRequest continueResponse continueWithAuth disable enable failRequest fulfillRequest "
        "getResponseBody takeResponseBodyAsStream"
    ),
    "FindInPage": "findFirst findNext findPrev stop",
    "IO": "close read",
    "Input": (
        "cancelDragging dispatchDragEvent dispatchKeyEvent dispatchMouseEvent dispatchTouchEvent "
        "emulateTouchFromMouseEvent setIgnoreInputEvents setInterceptDrags"
    ),
    "Inspector": "disable enable",
    "Memory": (
        "getBrowserSamplingProfile prepareForLeakDetection setPressureNotificationsSuppressed "
        "simulatePressureNotification"
    ),
    "Network": (
        "canEmulateNetworkConditions clearBrowserCache clearBrowserCookies deleteCookies deleteDeviceBoundSession "
        "emulateNetworkConditionsByRule enableDeviceBoundSessions enableReportingApi fetchSchemefulSite "
        "getAllCookies getCookies getSecurityIsolationStatus loadNetworkResource setCookie setCookieControls "
        "setCookies"
    ),
    "Page": (
        "addCompilationCache bringToFront captureScreenshot clearDeviceMetricsOverride clearGeolocationOverride "
        "close getAnnotatedPageContent getAppId getInstallabilityErrors getManifestIcons getNavigationHistory "
        "getSiblingSubApps getSubApps handleJavaScriptDialog navigate navigateToHistoryEntry reload "
        "removeScriptToEvaluateOnLoad removeScriptToEvaluateOnNewDocument resetNavigationHistory screencastFrameAck "
        "setAdBlockingEnabled setDeviceMetricsOverride setDownloadBehavior setGeolocationOverride "
        "setPrerenderingAllowed setRPHRegistrationMode setSPCTransactionMode setWebLifecycleState "
        "startScreenRecording startScreencast stopLoading stopScreenRecording stopScreencast"
    ),
    "Schema": "getDomains",
    "Security": "disable enable handleCertificateError setIgnoreCertificateErrors setOverrideCertificateErrors",
    "ServiceWorker": (
        "deliverPushMessage disable dispatchPeriodicSyncEvent dispatchSyncEvent enable setForceUpdateOnPageLoad "
        "skipWaiting startWorker stopAllWorkers stopWorker unregister updateRegistration"
    ),
    "Storage": (
        "clearCookies clearDataForOrigin clearDataForStorageKey clearTrustTokens deleteStorageBucket getCookies "
        "getStorageKey getStorageKeyForFrame getTrustTokens getUsageAndQuota overrideQuotaForOrigin setCookies "
        "setStorageBucketTracking trackCacheStorageForOrigin trackCacheStorageForStorageKey trackIndexedDBForOrigin "
        "trackIndexedDBForStorageKey untrackCacheStorageForOrigin untrackCacheStorageForStorageKey "
        "untrackIndexedDBForOrigin untrackIndexedDBForStorageKey"
    ),
    "SystemInfo": "getFeatureState getInfo getProcessInfo",
    "Target": (
        "activateTarget attachToBrowserTarget attachToTarget autoAttachRelated createBrowserContext createTarget "
        "detachFromTarget disposeBrowserContext exposeDevToolsProtocol getBrowserContexts getDevToolsTarget "
        "getTargetInfo getTargets openDevTools sendMessageToTarget setAutoAttach setDiscoverTargets "
        "setRemoteLocations"
    ),
    "Tracing": "end getCategories getTrackEventDescriptor recordClockSyncMarker requestMemoryDump start",
    "WebAuthn": (
        "addCredential addVirtualAuthenticator clearCredentials disable enable getCredential getCredentials "
        "removeCredential removeVirtualAuthenticator setAutomaticPresenceSimulation setCredentialProperties "
        "setResponseOverrideBits setUserVerified"
    ),
    "WebMCP": "invokeTool",
}
"""Domain → names of its commands."""

ANSWERED: Final = frozenset(f"{domain}.{name}" for domain, names in _ANSWERED.items() for name in names.split())
CARRIED_OUT: Final = frozenset(("Target.closeTarget",))
"""Commands that are carried out and end the session, so that their reply may not come."""
ENDS_BROWSER: Final = frozenset(
    ("Input.synthesizePinchGesture", "Input.synthesizeScrollGesture", "Input.synthesizeTapGesture", "Page.printToPDF")
)
"""Commands that abort the whole browser when their page has crashed."""
