// Headers that the web process (web/) adds to requests it proxies to the API process (control/), and how each finds
// the other. Pure.

/** Address of the client's connection to the web process. */
export const CLIENT_HEADER = 'x-platform-client';
/** `WEB_TOKEN`: identifies the web process. */
export const WEB_TOKEN_HEADER = 'x-platform-web';
