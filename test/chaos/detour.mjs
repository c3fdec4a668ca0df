/**
 * Loaded into each worker before it starts: connections to the addresses in CHAOS_DETOURS go to other ports of this machine, where the runner can
 * cut them. So one pair of workers can be kept apart while all others meet, though each announces a single address.
 */
import { Socket } from 'node:net';

const detours = JSON.parse(process.env.CHAOS_DETOURS ?? '{}');
const { connect } = Socket.prototype;

Socket.prototype.connect = function detoured(...args) {
  const options = Array.isArray(args[0]) ? args[0][0] : args[0];
  const port = detours[`${options?.host}:${options?.port}`];
  if (port !== undefined) options.port = port;
  return connect.apply(this, args);
};
