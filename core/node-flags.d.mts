// Types of node-flags.mjs.
export declare const nodeFlags: readonly string[];
