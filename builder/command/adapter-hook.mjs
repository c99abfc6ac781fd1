// Loaded into the Node process of build commands through NODE_OPTIONS (frameworks/adapters.ts): replaces the adapters
// that apps import with the platform's. Plain JavaScript for Node 20, which the project may use.
import * as node from 'node:module';
import { resolveSync } from './adapter-stand-ins.mjs';

if (node.registerHooks !== undefined) node.registerHooks({ resolve: resolveSync });
else node.register('./adapter-stand-ins.mjs', import.meta.url);
