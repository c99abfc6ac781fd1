// What the web process (web/) says to the API process (control/) of a request that it passes on, and how each of them
// finds the other. Pure.

/** Address of the client's connection to the web process. */
export const CLIENT_HEADER = 'x-platform-client';
/** `WEB_TOKEN`: who has it is the web process. */
export const WEB_TOKEN_HEADER = 'x-platform-web';
