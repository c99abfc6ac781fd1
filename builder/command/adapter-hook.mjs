// Loaded into the Node of build commands by NODE_OPTIONS (frameworks/adapters.ts): gives apps the platform's adapters
// in place of those that they name. Plain JavaScript for Node 20, which the project brings.
import * as node from 'node:module';
import { resolveSync } from './adapter-stand-ins.mjs';

if (node.registerHooks !== undefined) node.registerHooks({ resolve: resolveSync });
else node.register('./adapter-stand-ins.mjs', import.meta.url);
