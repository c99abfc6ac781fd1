// A transport over a socket of the bridge: the host connects it to a socket of the called isolate. The host call that
// opens it lasts as long as the session and reports its failure.
import type { HostCallName, Part } from '../../../bridge/protocol.ts';
import { startCall } from '../../calls.ts';
import { currentInvocation } from '../../invocation.ts';
import { connectEnd, disconnectEnd, NetworkEnd, reserveSocketId } from '../../sockets.ts';
import type { RpcTransport } from './transport.ts';

/**
 * Opens a session with another isolate; the host call contains the first frame.
 *
 * @param name a host call that takes `{..., socket}` and the first frame, and replies when the session is over.
 * @param args its arguments.
 */
export function openSocketTransport(name: HostCallName, args: object): RpcTransport {
  const id = reserveSocketId();
  const network = new NetworkEnd(id);
  let state: 'new' | 'open' | 'over' = 'new';

  function begin(frame: Part): void {
    state = 'open';
    const end = {
      networkId: 0,
      receive: (data: Part) => {
        if (state === 'open') transport.onFrame(data);
      },
      // The reply to the host call contains the reason.
      closing: () => {},
      closed: () => {},
      failed: () => {},
    };
    connectEnd(id, end, currentInvocation(), () => {}, false);
    startCall(name, { ...args, socket: id }, [frame]).reply.then(
      () => over(null),
      (error: unknown) => over(error as Error),
    );
  }

  function over(error: Error | null): void {
    disconnectEnd(id);
    if (state === 'over') return;
    state = 'over';
    transport.onClosed(error);
  }

  const transport: RpcTransport = {
    send(frame) {
      if (state === 'new') begin(frame);
      else if (state === 'open') network.receive(frame);
    },
    close() {
      if (state === 'open') network.closing(1000, '');
      state = 'over';
    },
    onFrame: () => {},
    onClosed: () => {},
  };
  return transport;
}
