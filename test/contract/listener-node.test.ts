// The listener contract over node:http, without exceptions.
import { openNodeListener } from '#runtime/server/listener-node.ts';
import { listenerSuite } from './listener.ts';

listenerSuite({ open: openNodeListener, technology: 'node', skip: [] });
