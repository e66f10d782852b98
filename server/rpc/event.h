// What a completion queue hands back: an object to run.
#pragma once

namespace axis {

class Event {
 public:
  // Continues what the event was started for; `ok` as gRPC defines it for the
  // operation. Runs on the polling thread, which must not block.
  virtual void Run(bool ok) = 0;

 protected:
  ~Event() = default;
};

// An event that calls a member function of its owner, so that one object can
// wait for several things.
template <class Owner, void (Owner::*kStep)(bool)>
class StepOf final : public Event {
 public:
  explicit StepOf(Owner* owner) : owner_(owner) {}
  void Run(bool ok) override { (owner_->*kStep)(ok); }

 private:
  Owner* const owner_;
};

}  // namespace axis
