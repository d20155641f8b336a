import { Limit } from "./limit.js";

const RESERVED = 8; // kept free for messages of the operators

export class Sender {
  constructor(settings) {
    this.settings = settings;
    this.limit = new Limit(settings.inflight - RESERVED);
  }

  start() {
    this.limit.open();
  }
}
